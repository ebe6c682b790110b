"""What every room may use: files, text, settings, resuming, threads, progress. No torch."""
