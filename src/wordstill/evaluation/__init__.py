"""Scoring vectors: tasks, protocols, data sets by checksum, statistics and reports."""

from wordstill.evaluation.data.catalog import DATASETS, SUITES
from wordstill.evaluation.protocol import PROTOCOLS, Protocol
from wordstill.evaluation.result import Comparison, Evaluation
from wordstill.evaluation.score import Score
from wordstill.evaluation.suite import evaluate, evaluate_in_context
from wordstill.evaluation.tasks.base import TASKS, Task, make_task, words_of
from wordstill.evaluation.tasks.similarity import SimilarityTask

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
    "evaluate_in_context",
    "make_task",
    "words_of",
]
