"""How good are the vectors? Tasks, protocols, data sets by checksum, statistics and reports."""

from wordstill.evaluate.datasets import DATASETS
from wordstill.evaluate.protocol import PROTOCOLS, Protocol
from wordstill.evaluate.score import Score
from wordstill.evaluate.similarity import SimilarityTask
from wordstill.evaluate.suite import Evaluation, evaluate

__all__ = ["DATASETS", "PROTOCOLS", "Evaluation", "Protocol", "Score", "SimilarityTask", "evaluate"]
