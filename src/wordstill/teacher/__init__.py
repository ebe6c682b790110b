"""Language models as teachers: sub-words, alignment, batches, states."""

from wordstill.teacher.batch import Batch, BatchConfig, LoadedBatch
from wordstill.teacher.batches import TextBatches, WordListBatches
from wordstill.teacher.states import WordStates
from wordstill.teacher.subwords import piece_source
from wordstill.teacher.teacher import Teacher, TeacherConfig

__all__ = [
    "Batch",
    "BatchConfig",
    "LoadedBatch",
    "Teacher",
    "TeacherConfig",
    "TextBatches",
    "WordListBatches",
    "WordStates",
    "piece_source",
]
