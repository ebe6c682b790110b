"""Language models as teachers: sub-words, alignment, batches, states."""

from wordstill.teacher.batch import Batch
from wordstill.teacher.batches import BatchConfig, TextBatches, WordListBatches
from wordstill.teacher.loaded import LoadedBatch
from wordstill.teacher.pieces import piece_source
from wordstill.teacher.states import WordStates
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
