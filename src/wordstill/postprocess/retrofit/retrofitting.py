"""``faruqui`` and ``context-graph``: words move towards those that a lexicon links them with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError, unknown_name
from wordstill.postprocess.retrofit.context_graph import PRINTED, RELEASED, ContextGraphConfig
from wordstill.postprocess.retrofit.faruqui import FaruquiConfig
from wordstill.postprocess.retrofit.graph import Floats, Graph
from wordstill.postprocess.retrofit.lexicon import Lexicon
from wordstill.postprocess.retrofit.moving import Moving
from wordstill.postprocess.retrofit.relaxation import relax
from wordstill.vectors import WordVectors

PRESETS: Mapping[str, FaruquiConfig | ContextGraphConfig] = {
    "context-graph": ContextGraphConfig(),
    "context-graph-printed": PRINTED,
    "context-graph-released": RELEASED,
    "faruqui": FaruquiConfig(),
}
"""Methods by the names that the command line has for them."""


class _Retrofit(Moving):
    config: FaruquiConfig | ContextGraphConfig

    def _moved(
        self, vectors: WordVectors, matrix: Floats
    ) -> tuple[NDArray[np.int64], Floats, tuple[float, ...]]:
        graph = Graph.of(self.lexicon("lexicon"), vectors, self.config.case)
        done = relax(
            matrix[graph.rows],
            graph.links,
            self.config,
            passes=self.config.passes,
            order=self.config.order,
        )
        return graph.rows, done.matrix, done.objective


class Faruqui(_Retrofit):
    """Retrofitting as in Faruqui et al. 2015; see `FaruquiConfig`.

    Example:
        >>> Faruqui(FaruquiConfig(lexicon="ppdb-xl.txt")).fit_transform(vectors)  # doctest: +SKIP
    """

    name: ClassVar[str] = "faruqui.v1"
    config_type: ClassVar[type[FaruquiConfig]] = FaruquiConfig


class ContextGraph(_Retrofit):
    """Retrofitting as in Zheng et al. 2022; see `ContextGraphConfig`."""

    name: ClassVar[str] = "context-graph.v1"
    config_type: ClassVar[type[ContextGraphConfig]] = ContextGraphConfig


def retrofitter(method: str, lexicon: str | Lexicon, **settings: Any) -> Faruqui | ContextGraph:
    """The transform of a method by its name.

    Args:
        method: A name of ``PRESETS``.
        lexicon: Which words belong together.
        settings: What is not as in the preset.
    """
    if method not in PRESETS:
        raise unknown_name("method of retrofitting", method, PRESETS)
    preset = PRESETS[method]
    if unknown := sorted(settings.keys() - vars(preset).keys()):
        raise UsageError(
            f"{method} has no setting {' or '.join(unknown)}; it has {', '.join(sorted(vars(preset)))}."
        )
    config = replace(preset, lexicon=lexicon, **settings)
    return Faruqui(config) if isinstance(config, FaruquiConfig) else ContextGraph(config)
