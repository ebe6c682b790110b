"""From table to table: transforms that are fitted, chained and recorded."""

from wordstill.postprocess.base import Transform
from wordstill.postprocess.combine import average, concatenate
from wordstill.postprocess.pipeline import Pipeline
from wordstill.postprocess.registry import TRANSFORMS

__all__ = ["TRANSFORMS", "Pipeline", "Transform", "average", "concatenate"]
