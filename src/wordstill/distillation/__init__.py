"""Distilling a teacher over text: read `distilling`, then `plan`, then `engine`."""

from wordstill.distillation.config import DistillConfig, EarlyStopping
from wordstill.distillation.distilling import distill, distill_from_teacher

__all__ = ["DistillConfig", "EarlyStopping", "distill", "distill_from_teacher"]
