"""The meaning encoder: vectors for what words mean in their sentences, and means of these over sentences or texts.

On disk it is a folder without the teacher:

distillers.safetensors   the weights of both distillers, float32
config.json              the teacher with its fingerprint, layers, shape, provenance, and SHA-256 sums of both files
README.md                what it is and how it is used
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.files import atomic_folder, refuse_existing, refuse_foreign, sha256_of
from wordstill.core.guard import reading
from wordstill.core.progress import count_bar
from wordstill.core.resume import OWN_CHECKSUM, signed, unsigned
from wordstill.core.tensors import map_tensors, write_tensors
from wordstill.corpus import Corpus, Vocabulary
from wordstill.corpus.segment import Span, word_spans
from wordstill.errors import DataError, FormatError, TeacherError, UsageError, unknown_name
from wordstill.meaning.context_encoder import span_vectors
from wordstill.meaning.distiller import (
    BESIDE_RAW,
    CENTERED,
    KINDS,
    RAW_SCALED,
    DistillerConfig,
    Distillers,
    Representation,
)
from wordstill.meaning.occurrence import Occurrence, Place
from wordstill.methods.sums import RowSums
from wordstill.teacher import BatchConfig, Teacher, TeacherConfig, TextBatches, refuse_download, subword_source
from wordstill.teacher.device import choose_precision
from wordstill.teacher.spans import Spans, StateReader, Unit
from wordstill.vectors import WordVectors

if TYPE_CHECKING:
    from wordstill.meaning.occurrence import OccurrenceStore


FORMAT, SCHEMA = "wordstill-meaning", 1
WEIGHTS, CONFIG, CARD = "distillers.safetensors", "config.json", "README.md"
CARD_TEXT = """# Word meaning in context

Two distillers over a frozen language model (Arase & Kajiwara 2021), made by wordstill.

FACTS

```python
from wordstill.meaning import MeaningEncoder

encoder = MeaningEncoder.load("this folder")
encoder.encode("They sat on the bank.", (16, 20))
```
"""
Vectors = NDArray[np.float32]
ALL_KINDS = (*KINDS, *(f"{kind}{CENTERED}" for kind in KINDS), RAW_SCALED, f"{BESIDE_RAW}meaning{CENTERED}")
DEFAULT_KIND = f"meaning{CENTERED}"
"""The default kind, chosen on development data; the paper's is ``meaning``."""


class MeaningEncoder:
    """An encoder of what words mean in a sentence.

    Args:
        teacher: The frozen language model.
        distillers: Distillers trained on states of these layers of the teacher.
        layers: The layers.
        kind: ``meaning``, ``context`` for the other distiller, or ``raw`` for the mean of the layers; with the suffix
            ``-centred``, the mean vector over the training words is subtracted. ``raw-scaled`` is the mean of the
            layers after the distillers' scaling; ``raw-and-meaning-centred`` concatenates two of them.
        provenance: How the distillers were trained.

    Attributes:
        path: The folder that the encoder was loaded from, if any.
        fingerprint: Identifies teacher, layers, weights and kind; vectors with the same fingerprint are comparable.
        represent: Maps states [n, layers, width] to vectors [n, dim].

    Raises:
        UsageError: The distillers do not fit the shape of the teacher's states.

    Example:
        >>> encoder = MeaningEncoder.load("meaning")               # doctest: +SKIP
        >>> encoder.encode("They sat on the bank.", (16, 20))      # doctest: +SKIP
    """

    def __init__(
        self,
        teacher: Teacher,
        distillers: Distillers,
        layers: str = "top-half",
        *,
        kind: str = DEFAULT_KIND,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.reader = StateReader(teacher, layers)
        if (distillers.layers, distillers.width) != self.reader.shape:
            raise UsageError(
                f"The distillers are for {distillers.layers} layers of width {distillers.width}, but "
                f"{teacher.config.name} gives {self.reader.shape[0]} of width {self.reader.shape[1]}."
            )
        if kind not in ALL_KINDS:
            raise unknown_name("kind of vector", kind, ALL_KINDS)
        self.teacher, self.kind = teacher, kind
        self.layers = ",".join(map(str, self.reader.layers))
        self.distillers = distillers.to(teacher.device).eval()
        self.provenance: Mapping[str, Any] = dict(provenance or {})
        self.path: Path | None = None
        self.fingerprint = self._fingerprint()
        self.represent = self.representations()[kind]

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        kind: str = DEFAULT_KIND,
        device: str = "auto",
        dtype: str = "auto",
        teacher: str | Path | Teacher | None = None,
    ) -> MeaningEncoder:
        """Open a folder that ``save`` wrote, and load its teacher.

        A teacher that has moved is given by its new location, or as an object.

        Raises:
            FormatError: The folder is not an encoder, or is damaged.
            TeacherError: The distillers were trained on another teacher.
        """
        path = Path(path)
        with reading(path, FormatError, "Train it again."):
            config = _read_config(path)
            distillers = _read_distillers(path, config)
            trained_on, expected = (str(config["teacher"][key]) for key in ("name", "fingerprint"))
            layers = ",".join(map(str, config["layers"]))
        if not isinstance(teacher, Teacher):
            if teacher is None:
                refuse_download(trained_on, str(path / CONFIG))
            teacher = Teacher.from_config(TeacherConfig(str(teacher or trained_on), device, dtype))
        if (got := teacher.identity) != expected:
            raise TeacherError(
                f"The distillers in {path} were trained on {trained_on} with the fingerprint "
                f"{expected[:12]}, but {teacher.config.name} has {got[:12]}: its weights or its tokenizer "
                "differ. Use the right teacher."
            )
        encoder = cls(teacher, distillers, layers, kind=kind, provenance=config["provenance"])
        encoder.path = path
        return encoder

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write distillers and settings, without the teacher; a folder that is not an encoder is not replaced."""
        path = Path(path)
        refuse_existing(path, overwrite=overwrite)
        refuse_foreign(path, (WEIGHTS, CONFIG, CARD))
        weights = {name: _array(weight.contiguous()) for name, weight in self.distillers.state_dict().items()}
        with atomic_folder(path, overwrite=overwrite) as folder:
            write_tensors(folder / WEIGHTS, weights, {"format": FORMAT})
            config = {
                "format": FORMAT,
                "schema": SCHEMA,
                "teacher": {"name": self.teacher.config.name, "fingerprint": self.teacher.identity},
                "layers": list(self.reader.layers),
                "width": self.teacher.width,
                "distiller": asdict(self.distillers.config),
                "provenance": dict(self.provenance),
                "sha256": sha256_of(folder / WEIGHTS),
            }
            text = json.dumps(signed(config, OWN_CHECKSUM), indent=2, sort_keys=True, ensure_ascii=False)
            (folder / CONFIG).write_text(text + "\n", encoding="utf-8")
            (folder / CARD).write_text(_card(config), encoding="utf-8")

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return self.reader.shape[1] * (2 if self.kind.startswith(BESIDE_RAW) else 1)

    def representations(self) -> dict[str, Representation]:
        """Maps from states to vectors of each kind, in the teacher's precision for speed."""
        device, dtype = self.teacher.device, self.teacher.dtype
        if device.type == "cpu" and dtype is torch.bfloat16:
            # The teacher may have its own bfloat16 kernels where torch only has slow ones.
            dtype = choose_precision("auto", device)
        working = copy.deepcopy(self.distillers).to(dtype)
        return {kind: working.representation(kind) for kind in ALL_KINDS}

    def encode(self, sentence: str, span: Place) -> Vectors:
        """[dim] the meaning of one word or phrase.

        Args:
            sentence: A text of any length; a text over the teacher's limit is read in windows.
            span: The word itself, if it occurs once, its character offsets (start, end), or its index, from 0.

        Raises:
            UsageError: There is no such word, or the tokenizer drops it.
        """
        vector: Vectors = self.encode_occurrences([Occurrence.at(sentence, span)])[0]
        return vector

    def encode_many(self, places: Sequence[tuple[str, Place]]) -> Vectors:
        """[N, dim] the meanings of words, given as for ``encode``; much faster than one by one."""
        return self.encode_occurrences([Occurrence.at(sentence, span) for sentence, span in places])

    def encode_occurrences(self, occurrences: Sequence[Occurrence]) -> Vectors:
        """[N, dim] the meanings of occurrences, whose spans are not checked.

        Raises:
            UsageError: The tokenizer drops one of them.
        """
        states, found = self.reader.states(occurrences)
        if not found.all():
            lost = occurrences[int(np.argmin(found))]
            raise UsageError(
                f"The tokenizer of {self.teacher.config.name} has no subword for {lost.word!r} in "
                f"{lost.text[:80]!r}, so it has no meaning to distil. Skip it, or use another teacher."
            )
        return _array(self.represent(states))

    def encode_texts(
        self, texts: Sequence[str], words: Sequence[str] | None = None
    ) -> list[tuple[list[Occurrence], Vectors]]:
        """For each text of any length, its words that have subwords, and their meanings.

        With ``words``, only these words in any case; texts without them are not read.
        """
        wanted = None if words is None else {word.casefold() for word in words}
        spans = [_wanted_spans(text, wanted) for text in texts]
        by_text = Spans.of(spans)
        read, found = span_vectors(self.reader, texts, by_text, {self.kind: self.represent})
        vectors = read[self.kind] if found.any() else np.zeros((len(found), self.dim), dtype=np.float32)
        bounds = np.searchsorted(by_text.text, np.arange(len(texts) + 1))
        return [
            (
                [Occurrence(text, *span) for span, there in zip(spans[number], found[low:high]) if there],
                vectors[low:high][found[low:high]],
            )
            for number, (text, low, high) in enumerate(zip(texts, bounds[:-1], bounds[1:]))
        ]

    def encode_sentences(self, sentences: Sequence[str], unit: Unit = "words") -> Vectors:
        """[N, dim] the mean of the meanings in each sentence; zeros for a sentence without words.

        Args:
            sentences: Texts of any length.
            unit: Whether to encode words or subwords; the distillers are trained on whole words, but the paper
                applies them to subwords here.
        """
        sums = torch.zeros(len(sentences), self.dim, device=self.teacher.device)
        counts = torch.zeros(len(sentences), device=self.teacher.device)
        for text, states in self.reader.read_units(sentences, unit):
            rows = torch.from_numpy(text).to(sums.device)
            sums.index_add_(0, rows, self.represent(states))
            counts.index_add_(0, rows, torch.ones(len(rows), device=sums.device))
        return _array(sums / counts.clamp(min=1)[:, None])

    def most_similar(
        self, sentence: str, span: Place, store: OccurrenceStore, topn: int = 10
    ) -> list[tuple[Occurrence, float]]:
        """The occurrences in a store with the meanings nearest to that of a word, with their cosines."""
        store.refuse_other(self)
        return store.nearest(self.encode(sentence, span), topn)

    def _fingerprint(self) -> str:
        digest = hashlib.sha256(f"{self.teacher.identity} {self.reader.layers} {self.kind}".encode())
        for name, weight in sorted(self.distillers.state_dict().items()):
            digest.update(name.encode() + _array(weight).tobytes())
        return digest.hexdigest()


def _wanted_spans(text: str, wanted: set[str] | None) -> list[Span]:
    spans = word_spans(text)
    return spans if wanted is None else [span for span in spans if text[slice(*span)].casefold() in wanted]


def _array(vectors: Tensor) -> Vectors:
    return vectors.float().cpu().numpy()


def _read_config(path: Path) -> dict[str, Any]:
    """Read and check the settings of a saved encoder."""
    file = path / CONFIG
    if not file.is_file():
        raise FormatError(f"{path} is not a saved encoder: it has no {CONFIG}. Train one with meaning train.")
    try:
        config = json.loads(file.read_bytes())
        known = config["format"] == FORMAT
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise FormatError(f'{file} does not say "format": "{FORMAT}"; {path} is not a saved encoder.')
    if config.get("schema") != SCHEMA:
        raise FormatError(f"{file}: schema {config.get('schema')!r}, this version reads {SCHEMA}.")
    fields = {"teacher": dict, "layers": list, "width": int, "distiller": dict, "provenance": dict, "sha256": str}
    if wrong := [name for name, kind in fields.items() if type(config.get(name)) is not kind]:
        raise FormatError(f"{file} lacks {', '.join(wrong)}. The folder is damaged.")
    if config.keys() == {"format", "schema", *fields}:
        # Encoders of earlier versions have no checksum.
        return dict(config)
    try:
        return unsigned(config, OWN_CHECKSUM)
    except DataError as error:
        raise FormatError(f"{file} is damaged or was changed: {error}. Train it again.") from None


def _read_distillers(path: Path, config: dict[str, Any]) -> Distillers:
    file = path / WEIGHTS
    try:
        got = sha256_of(file)
        if got != config["sha256"]:
            raise FormatError(f"{file} is damaged or was changed: SHA-256 {got}, expected {config['sha256']}.")
        distillers = Distillers(len(config["layers"]), config["width"], DistillerConfig(**config["distiller"]))
        arrays, _ = map_tensors(file)
        distillers.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        raise FormatError(f"{path} is not a whole encoder: {error}. Train it again.") from error
    return distillers


def _card(config: dict[str, Any]) -> str:
    teacher, provenance = config["teacher"], config["provenance"]
    facts = [
        f"- teacher: {teacher['name']} (fingerprint {teacher['fingerprint'][:16]}), not included",
        f"- layers: {', '.join(map(str, config['layers']))}; width {config['width']}",
    ]
    facts += [f"- {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in provenance.items()]
    return CARD_TEXT.replace("FACTS", "\n".join(facts))


def static_table(
    encoder: MeaningEncoder, corpus: Corpus, vocabulary: Vocabulary, *, progress: bool = False
) -> WordVectors:
    """A static table: the mean vector of each word of a vocabulary over its occurrences in a text.

    Whole paragraphs are read, split at sentence ends if they are too long.
    """
    teacher, layers = encoder.teacher, encoder.reader.layers
    batches = TextBatches(
        corpus,
        vocabulary,
        subword_source(corpus, teacher.tokenizer),
        teacher.tokenizer,
        BatchConfig(encoder.reader.budget, teacher.limit),
    )
    sums = RowSums(len(vocabulary), encoder.dim, teacher.device)
    with count_bar("text", corpus.n_words, "words", show=progress) as bar:
        for _, batch in batches.since((0, 0)):
            states = teacher.encode(batch, layers)
            known = states.known
            if len(known):
                stacked = torch.stack([states.words(layer)[known] for layer in layers], dim=1)
                sums.add(states.word_ids[known], encoder.represent(stacked))
            bar.update(len(states.word_ids))
    seen = np.flatnonzero(sums.counts.cpu().numpy())
    matrix = sums.pooled().cpu().numpy()[seen]
    return WordVectors(
        [vocabulary.keys[row] for row in seen],
        matrix.astype(np.float32),
        counts=vocabulary.counts[seen],
        provenance={
            "method": f"mean of {encoder.kind} in context",
            "teacher": {"name": teacher.config.name, "fingerprint": teacher.identity},
            "encoder": encoder.fingerprint,
            "corpus": corpus.hash,
        },
    )
