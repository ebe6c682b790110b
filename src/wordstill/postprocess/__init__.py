"""Transforms of tables: fitted, chained, and recorded in the provenance."""

from wordstill.postprocess.base import Transform
from wordstill.postprocess.combine import average, concatenate
from wordstill.postprocess.pipeline import TRANSFORMS, Pipeline

__all__ = ["TRANSFORMS", "Pipeline", "Transform", "average", "concatenate"]
