"""Tasks for words in context: usage similarity, senses, similarity in context, sentences, paraphrases."""

from wordstill.meaning.tasks.suite import TASKS, Evaluation, evaluate

__all__ = ["TASKS", "Evaluation", "evaluate"]
