"""Speed and memory, measured: see README.md."""
