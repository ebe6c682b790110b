"""How good are the vectors? Tasks, protocols, data sets by checksum, statistics and reports."""

from wordstill.evaluate.datasets import DATASETS
from wordstill.evaluate.evaluation import Comparison, Evaluation
from wordstill.evaluate.protocol import PROTOCOLS, Protocol
from wordstill.evaluate.score import Score
from wordstill.evaluate.similarity import SimilarityTask
from wordstill.evaluate.suite import evaluate
from wordstill.evaluate.suites import SUITES
from wordstill.evaluate.task import TASKS, Task, make_task, words_of

__all__ = [
    "DATASETS",
    "PROTOCOLS",
    "SUITES",
    "TASKS",
    "Comparison",
    "Evaluation",
    "Protocol",
    "Score",
    "SimilarityTask",
    "Task",
    "evaluate",
    "make_task",
    "words_of",
]
