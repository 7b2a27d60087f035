"""Pages in Chromium, on a phone and on a desktop, with and without scripts."""
