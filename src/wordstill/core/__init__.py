"""Shared by all rooms: files, text, settings, resuming, threads, progress. No torch."""
