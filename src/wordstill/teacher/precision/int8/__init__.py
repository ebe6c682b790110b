"""Linear layers in 8 bits on a CPU: what is learnt from a sample, and the model that comes of it."""

from wordstill.teacher.precision.int8.model import (
    cpu_multiplies_int8,
    int8_if_close,
    int8_model,
    refuse_without_int8,
)
from wordstill.teacher.precision.int8.sample import RangeSample, sample_of

__all__ = [
    "RangeSample",
    "cpu_multiplies_int8",
    "int8_if_close",
    "int8_model",
    "refuse_without_int8",
    "sample_of",
]
