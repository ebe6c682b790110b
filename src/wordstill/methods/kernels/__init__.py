"""Triton kernels of the methods; each has a plain path beside it that gives the same."""
