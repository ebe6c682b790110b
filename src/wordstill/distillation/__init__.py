"""From text and a teacher to word vectors: configuration, recipe, engine, early stopping, estimates."""

from wordstill.distillation.config import DistillConfig, EarlyStopping
from wordstill.distillation.distilling import distill, distill_from_teacher

__all__ = ["DistillConfig", "EarlyStopping", "distill", "distill_from_teacher"]
