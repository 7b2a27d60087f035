"""The yardsticks beside which Byzanz is measured, each a program of its own; `python3 dev.py peers` installs them."""
