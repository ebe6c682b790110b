"""Measurements of wordstill, and the tables made from them: see README.md."""
