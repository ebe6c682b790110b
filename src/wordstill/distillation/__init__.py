"""From text and a teacher to word vectors: configuration, recipe, engine, early stopping, estimates."""

from wordstill.distillation.distilling import distill
from wordstill.distillation.run import DistillConfig

__all__ = ["DistillConfig", "distill"]
