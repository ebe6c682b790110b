"""From table to table: transforms that are fitted, chained and recorded."""

from wordstill.postprocess.base import Transform
from wordstill.postprocess.combine import average, concatenate
from wordstill.postprocess.pipeline import TRANSFORMS, Pipeline

__all__ = ["TRANSFORMS", "Pipeline", "Transform", "average", "concatenate"]
