"""Attention over texts that lie end to end, without padding."""
