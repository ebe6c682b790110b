"""Language models as teachers: sub-words, alignment, batches, states."""

from wordstill.teacher.batches.batch import Batch
from wordstill.teacher.batches.config import BatchConfig
from wordstill.teacher.batches.loaded import LoadedBatch
from wordstill.teacher.batches.text import TextBatches
from wordstill.teacher.batches.words import WordListBatches
from wordstill.teacher.states import WordStates
from wordstill.teacher.subwords.pieces import piece_source
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
