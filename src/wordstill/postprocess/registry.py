"""The table of transforms."""

from __future__ import annotations

from wordstill.core.plugins import Registry
from wordstill.postprocess.base import Transform
from wordstill.postprocess.combine import Average, Concatenate
from wordstill.postprocess.linear_transforms import AllButTheTop, Center, Pca, Uncovec, Unit, Whiten
from wordstill.postprocess.product_quantization import ProductQuantization
from wordstill.postprocess.retrofit import ContextGraph, CounterFit, Faruqui
from wordstill.postprocess.sentence_weights import SentenceWeights
from wordstill.postprocess.subword_rows import Subwords
from wordstill.postprocess.vocabulary_transforms import MergeCase, Quantize, Trim

TRANSFORMS: Registry[type[Transform]] = Registry(
    "transform",
    "wordstill.transforms",
    {
        kind.name.partition(".")[0]: kind
        for kind in (
            Center,
            Unit,
            SentenceWeights,
            AllButTheTop,
            Whiten,
            Pca,
            Uncovec,
            Quantize,
            ProductQuantization,
            Trim,
            MergeCase,
            Subwords,
            Concatenate,
            Average,
            Faruqui,
            ContextGraph,
            CounterFit,
        )
    },
    Transform,
)
