"""The table of docs/benchmarks.md: Byzanz beside its peers, measured in one run."""
