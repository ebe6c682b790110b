"""From text and a teacher to word vectors: configuration, recipe, engine, early stopping, estimates."""

from wordstill.distillation.config import DistillConfig
from wordstill.distillation.distilling import distill, distill_from_teacher
from wordstill.distillation.early_stopping import EarlyStopping

__all__ = ["DistillConfig", "EarlyStopping", "distill", "distill_from_teacher"]
