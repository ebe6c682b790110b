"""Evaluations as tables, pages and plots, beside published results."""
