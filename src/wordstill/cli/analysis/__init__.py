"""Commands that analyze tables."""
