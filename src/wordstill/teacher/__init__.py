"""Language models as teachers: subwords, alignment, batches, states."""

from wordstill.teacher.batch import Batch, BatchConfig, DeviceBatch, batches_by_length
from wordstill.teacher.batches import TextBatches, WordListBatches
from wordstill.teacher.layers import wanted_states
from wordstill.teacher.loading import fingerprint, load_model_and_tokenizer, quiet, recorded_teacher, refuse_download
from wordstill.teacher.states import WordStates
from wordstill.teacher.subwords import subword_source
from wordstill.teacher.teacher import Teacher, TeacherConfig
from wordstill.teacher.tokenizer import SubwordTokenizer, room_beside_specials, text_limit

__all__ = [
    "Batch",
    "BatchConfig",
    "DeviceBatch",
    "SubwordTokenizer",
    "Teacher",
    "TeacherConfig",
    "TextBatches",
    "WordListBatches",
    "WordStates",
    "batches_by_length",
    "fingerprint",
    "load_model_and_tokenizer",
    "quiet",
    "recorded_teacher",
    "refuse_download",
    "room_beside_specials",
    "subword_source",
    "text_limit",
    "wanted_states",
]
