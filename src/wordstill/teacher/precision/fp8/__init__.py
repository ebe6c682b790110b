"""Linear layers in 8-bit floating point on a GPU, with one scale for each row."""

from wordstill.teacher.precision.fp8.model import fp8_if_close, fp8_model, refuse_without_fp8

__all__ = ["fp8_if_close", "fp8_model", "refuse_without_fp8"]
