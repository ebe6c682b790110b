"""Language models as teachers: subwords, alignment, batches, states."""

from wordstill.teacher.batch import Batch, BatchConfig, DeviceBatch
from wordstill.teacher.batches import TextBatches, WordListBatches
from wordstill.teacher.states import WordStates
from wordstill.teacher.subwords import subword_source
from wordstill.teacher.teacher import Teacher, TeacherConfig

__all__ = [
    "Batch",
    "BatchConfig",
    "DeviceBatch",
    "Teacher",
    "TeacherConfig",
    "TextBatches",
    "WordListBatches",
    "WordStates",
    "subword_source",
]
