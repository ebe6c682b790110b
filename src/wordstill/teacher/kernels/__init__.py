"""Triton kernels of the teacher; each has a plain path beside it that gives the same."""
