"""Attention over packed texts, and models whose own attention is adapted to it."""
