"""Gradient learning of word tables: examples, negative sampling, losses, and sparse optimizer steps."""
