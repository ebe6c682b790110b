"""The table of transforms."""

from __future__ import annotations

from wordstill.postprocess.all_but_the_top import AllButTheTop
from wordstill.postprocess.base import Transform
from wordstill.postprocess.centre import Centre, Unit
from wordstill.postprocess.joining import Average, Concatenate
from wordstill.postprocess.pca import Pca
from wordstill.postprocess.quantise import Quantise
from wordstill.postprocess.retrofit import ContextGraph, CounterFit, Faruqui
from wordstill.postprocess.uncovec import Uncovec
from wordstill.postprocess.vocabulary import MergeCase, Trim
from wordstill.postprocess.whiten import Whiten

TRANSFORMS: dict[str, type[Transform]] = {
    kind.name.partition(".")[0]: kind
    for kind in (
        Centre,
        Unit,
        AllButTheTop,
        Whiten,
        Pca,
        Uncovec,
        Quantise,
        Trim,
        MergeCase,
        Concatenate,
        Average,
        Faruqui,
        ContextGraph,
        CounterFit,
    )
}
