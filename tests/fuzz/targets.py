"""The readers that are fuzzed: how each one's seeds are made, by the tool itself, and how they are read."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import struct
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from wordstill import WordVectors, formats
from wordstill.analysis.context_vectors import read_documents
from wordstill.analysis.expansion import read_decisions
from wordstill.analysis.ratings import read_ratings
from wordstill.analysis.synonyms import read_review
from wordstill.analysis.word_lists import read_tests
from wordstill.core.resume import CheckpointFile, keep_record, read_record
from wordstill.core.text_io import read_word_list
from wordstill.corpus import Corpus, PrepareConfig, prepare
from wordstill.corpus.conllu import collapse, read_trees
from wordstill.corpus.paragraphs import group_parts, read_paragraphs
from wordstill.corpus.readers import read_parts
from wordstill.corpus.segment import LineSplitter
from wordstill.corpus.shards import Shard, ShardMaker
from wordstill.corpus.sources import find_sources
from wordstill.errors import DataError
from wordstill.evaluation.data.analogy_sets import read_own_questions
from wordstill.evaluation.data.category_sets import read_own_categories
from wordstill.evaluation.data.similarity_sets import read_own_pairs
from wordstill.evaluation.data.text_sets import read_own_labelled
from wordstill.postprocess import Pipeline
from wordstill.postprocess.retrofit.lexicon import read_lexicon
from wordstill.postprocess.retrofit.wordnet import read_wordnet
from wordstill.teacher.isolated_words import TeacherBackoff
from wordstill.vectors.occurrences import Occurrences

CONLLU = b"""\
# newpar
1-2\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
1\tca\t_\t_\t_\t_\t0\troot\t_\t_
2\tn't\t_\t_\t_\t_\t1\tadvmod\t_\t_
3\ton\t_\t_\t_\t_\t4\tcase\t_\t_
4\trivers\t_\t_\t_\t_\t1\tobl\t_\tSpaceAfter=No

1\tKings\t_\t_\t_\t_\t0\troot\t_\t_
"""
WORDS = ["king", "queen", "river", "house", "naïve", "section 5", "好"]
TABLE = WordVectors(
    WORDS,
    np.random.default_rng(0).standard_normal((7, 4)).astype(np.float32),
    counts=np.arange(7, 0, -1),
    provenance={"teacher": {"name": "tiny", "max_length": 8}, "seed": 0, "transforms": [{"name": "unit.v1"}]},
)
TEXT = "The old house stands by the river. Nobody moved it.\n\nA queen, a king; and 3.5 others.\n" * 3
PAGE = (
    "<page><title>A</title><ns>0</ns><revision><text>The [[river|old river]] runs {{convert|5|km}} past the very old "
)
PAGE += "house and nobody ever moved it.\n* a list\n&lt;ref&gt;x&lt;/ref&gt; {| \n| cell\n|}</text></revision></page>"
WIKI = f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">{PAGE * 3}</mediawiki>'


@dataclass(frozen=True)
class Target:
    """A reader."""

    name: str
    make: Callable[[Path], object]
    """Writes the seed, a file or a folder, to a path."""
    read: Callable[[Path], Any]
    """Reads a path; what it gives is compared for a checked target."""
    file: str = "seed"
    checked: tuple[str, ...] = ()
    """Files of which no change may go unnoticed: the result must be an error or what it was."""
    seconds: int = 5
    """Of work that an input may take."""


def digest(*parts: Any) -> str:
    """What was read, as a short text."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _table(name: str, format: str, *, checked: tuple[str, ...] = (), seconds: int = 5) -> Target:
    def use(path: Path) -> str:
        table = formats.read(path, format)
        table.find(["king", "kings"])
        if len(table) > 1:
            table.neighbors([table.words[0]], 2)
        formats.recognize(path)
        return digest(table.words, table.matrix)

    return Target(name, lambda path: TABLE.save(path, format), use, file=name, checked=checked, seconds=seconds)


def _make_occurrences(path: Path) -> None:
    places = np.arange(3), np.arange(3, dtype=np.int32), np.ones(3, dtype=np.uint8)
    states = np.ones((3, 2), dtype=np.float16)
    table = TABLE.replace()
    table.occurrences = Occurrences(["king", "queen"], np.array([2, 1]), np.array([0, 2, 3]), states, *places, layer=1)
    table.save(path)


def _use_occurrences(path: Path) -> str:
    kept = formats.read(path).occurrences
    if kept is None:
        return "none"
    uses = [kept.of_row(row) for row in range(len(kept.words))]
    return digest(kept.words, kept.layer, kept.means, *(part for each in uses for part in each[1:]))


def _file(name: str, content: bytes, read: Callable[[Path], Any]) -> Target:
    return Target(name, lambda path: path.write_bytes(content), read, file=name)


def _text(name: str, content: bytes, **settings: Any) -> Target:
    config = PrepareConfig(**settings)

    def read(path: Path) -> None:
        for block in group_parts(read_parts(find_sources(path), config, 1 << 12), 1 << 12):
            for _ in read_paragraphs(block, config):
                pass

    return _file(name, content, read)


def _fasttext() -> bytes:
    data = (793712314).to_bytes(4, "little") + struct.pack("<i", 12)
    data += struct.pack("<12id", 2, 5, 1, 1, 5, 1, 2, 2, 3, 1, 3, 0, 1e-4) + struct.pack("<3i2q", 2, 2, 0, 10, -1)
    data += b"".join(word + b"\0" + struct.pack("<qb", 1, 0) for word in (b"king", b"queen"))
    data += struct.pack("<?2q", False, 5, 2) + bytes(40)
    return data + struct.pack("<?2q", False, 1, 2) + bytes(8)


def _use_subwords(path: Path) -> None:
    table = formats.read(path)
    if table.subwords is not None:
        table.subwords.vector("kings")


LISTS = b'[lists]\nx = "king queen"\na = ["river"]\nb = "house"\n[tests.t]\ntargets = ["x"]\nattributes = ["a", "b"]\n'
LISTS_JSON = json.dumps(
    {"lists": {"x": "king", "a": ["river"], "b": "house"}, "tests": {"t": {"targets": ["x"], "attributes": ["a", "b"]}}}
).encode()
FLORET = b"3 2 1 2 2 7 < >\n0 1 2\n1 3 4\n2 5 6\n"


def _make_store(path: Path) -> None:
    source = path.with_name("text.txt")
    source.write_text(TEXT, encoding="utf-8")
    prepare(source, path, workers=1)


def _read_store(path: Path) -> str:
    corpus = Corpus.open(path, verify=True)
    return digest([corpus.text(number) for number in range(len(corpus))], corpus.n_words, corpus.hash)


def _make_shard(path: Path) -> None:
    source = path.with_name("text.txt")
    source.write_text(TEXT, encoding="utf-8")
    config = PrepareConfig(sentences_per_line=True)
    for block in group_parts(read_parts(find_sources(source), config, 1 << 16), 1 << 16):
        ShardMaker(config, LineSplitter(), path)(block)
        source.write_text(block.digest())


def _read_shard(path: Path) -> str:
    tally = Shard(path, 0).finished(path.with_name("text.txt").read_text())
    if tally is None:
        raise DataError("Such a shard is made again.")
    return digest(tally)


@dataclass(frozen=True)
class _Progress:
    words: int = 0


RECIPE = json.dumps({"seed": 0, "method": {"name": "still", "dim": 4}})


def _make_checkpoint(path: Path) -> None:
    CheckpointFile(path, RECIPE).save({"words": 5}, {"sums": TABLE.matrix, "counts": TABLE.counts})  # type: ignore[dict-item]


def _read_checkpoint(path: Path) -> str:
    loaded = CheckpointFile(path, RECIPE).load(_Progress)
    return "" if loaded is None else digest(loaded[0], *(loaded[1][name] for name in sorted(loaded[1])))


def _reader(words: Any) -> Any:
    return np.array([[len(word), word.count("e"), 1.0] for word in words])


def _make_words(path: Path) -> None:
    TeacherBackoff(TABLE, _reader, teacher="letters", cache=path).find(["kings", "rivers"])


def _read_words(path: Path) -> str:
    found = TeacherBackoff(TABLE, _reader, teacher="letters", cache=path).find(["kings", "rivers"])
    return digest(*(np.round(vector, 3) for vector in found))  # type: ignore[arg-type]


def _read_learnt(path: Path) -> str:
    return digest(Pipeline.load(path).transform(TABLE).matrix)


def _read_record(path: Path) -> str:
    keep_record(path, {"command": "work", "seed": 0})
    return digest(read_record(path))


WORDNET = "00000001 03 n 02 king 0 ruler 0 001 @ 00000002 n 0000 | a gloss\n00000002 03 n 01 person 0 000 | another\n"


def _make_wordnet(path: Path) -> None:
    path.mkdir()
    (path / "data.noun").write_text(WORDNET)


def _make_uses(path: Path) -> None:
    from wordstill.meaning.occurrence import Occurrence, OccurrenceStore

    OccurrenceStore([Occurrence("the old bank", 8, 12)] * 3, np.ones((3, 4), np.float32), "encoder").save(path)


def _read_uses(path: Path) -> str:
    from wordstill.meaning.occurrence import OccurrenceStore

    store = OccurrenceStore.load(path)
    return digest([occurrence.word for occurrence in store.occurrences], store.vectors)


def _make_triples(path: Path) -> None:
    from wordstill.meaning.occurrence import Occurrence
    from wordstill.meaning.triples import Triple, write_triples

    occurrence = Occurrence("the old bank", 8, 12)
    write_triples(path, [Triple(occurrence, occurrence, occurrence)] * 3, {"triples": 3})


def _read_triples(path: Path) -> None:
    from wordstill.meaning.triples import Triples

    for triple in Triples.read(path):
        triple.shown()


def _make_part(path: Path) -> None:
    from wordstill.scale.part_files import Part

    Part({"still": {"sums": TABLE.matrix, "sparse": np.eye(7, 4, dtype=np.float32)}}, cut=2).write(path)


def _read_part(path: Path) -> str:
    from wordstill.scale.part_files import Part

    part, facts = Part.read(path)
    return digest(facts, part.cut, *(part.states["still"][name] for name in ("sums", "sparse")))


def _ledger(path: Path) -> Any:
    from wordstill.scale.ledger import Ledger
    from wordstill.scale.shared_folder import LocalFolder

    return Ledger(LocalFolder(path))


def _make_ledger(path: Path) -> None:
    ledger = _ledger(path)
    ledger.open_plan({"seed": 0, "shards": 3})
    for shard in range(2):
        claim = ledger.claim(shard, {})
        ledger.fail(claim, "no reason") if shard else ledger.commit(claim, claim.new_part())


def _read_ledger(path: Path) -> None:
    ledger = _ledger(path)
    ledger.open_plan({"seed": 0, "shards": 3})
    ledger.refresh()
    ledger.failures()
    ledger.left_out()


def _targets() -> list[Target]:
    table = formats.write
    assert table is not None
    plain = [
        _table("artifact", "wordstill", checked=("words.txt", "vectors.safetensors")),
        Target("occurrences", _make_occurrences, _use_occurrences, checked=("occurrences.safetensors",)),
        _table("table.model2vec", "model2vec"),
        _table("table.sentence-transformers", "sentence-transformers"),
        Target("projector", lambda path: TABLE.save(path, "projector"), formats.read),
        Target("word2vec.txt", lambda path: TABLE.save(path, "word2vec-text"), formats.read, file="x.txt"),
        Target("glove", lambda path: TABLE.save(path, "glove-text"), formats.read, file="x.glove"),
        Target("word2vec.txt.gz", lambda path: TABLE.save(path, "word2vec-text"), formats.read, file="x.txt.gz"),
        Target("word2vec.txt.xz", lambda path: TABLE.save(path, "word2vec-text"), formats.read, file="x.txt.xz"),
        Target("word2vec.txt.zst", lambda path: TABLE.save(path, "word2vec-text"), formats.read, file="x.txt.zst"),
        Target("word2vec.txt.bz2", lambda path: TABLE.save(path, "word2vec-text"), formats.read, file="x.txt.bz2"),
        Target(
            "word2vec.bin",
            lambda path: TABLE.subset(["king", "queen"]).save(path, "word2vec-binary"),
            formats.read,
            file="x.bin",
        ),
        _file("fasttext.bin", _fasttext(), _use_subwords),
        _file("floret", FLORET, _use_subwords),
        _file("documents.jsonl", b'{"text": "the king", "year": 5}\n{"text": "", "year": null}\n', read_documents),
        _file("documents.csv", b'text,year\n"the, king",5\n"a\nb",6\n', read_documents),
        _file("tests.toml", LISTS, read_tests),
        _file("tests.json", LISTS_JSON, read_tests),
        _file("tests.txt", b"x: king, queen\na: river\nb: house, na\xc3\xafve\n", read_tests),
        _file("ratings.csv", b'word,rating\nking,5.5\n"a, b",NA\nqueen,1e3\n', read_ratings),
        _file("decisions.tsv", b"# head\ny\tking\t0.5\n?\tqueen\nn\triver\t-1\n", read_decisions),
        _file("review.tsv", b"# head\ny\tking\tqueen\t0.5\t\tvectors\nn\ta\tb\n", read_review),
        _text("text.txt", TEXT.encode()),
        _text("text.txt.gz", gzip.compress(TEXT.encode(), mtime=0)),
        _text("text.txt.xz", lzma.compress(TEXT.encode())),
        _text("text", TEXT.encode()),
        _text("lines.jsonl", b"\n".join(json.dumps({"text": line}).encode() for line in TEXT.split("\n"))),
        _text("wiki.xml", WIKI.encode()),
        _text("text.conllu", CONLLU),
        _file("trees.conllu", CONLLU, lambda path: [collapse(tree) for tree in read_trees(path)]),
        Target("store", _make_store, _read_store, checked=("",)),
        Target("shard", _make_shard, _read_shard, checked=("",)),
        Target("checkpoint", _make_checkpoint, _read_checkpoint, file="checkpoint", checked=("",)),
        Target(
            "record",
            lambda path: keep_record(path, {"command": "work", "seed": 0}),
            _read_record,
            file="settings.json",
            checked=("",),
        ),
        Target(
            "transforms",
            lambda path: Pipeline.from_spec("centre,pca:dim=2").fit(TABLE).save(path),
            _read_learnt,
            file="learnt",
            checked=("",),
        ),
        Target("words cache", _make_words, _read_words, file="words", checked=("",)),
        _file("word list", b"king\nqueen of hearts\n\nriver\n", read_word_list),
        _file("neighbours", b"king queen ruler\nriver stream\n", read_lexicon),
        _file("groups", b"king queen ruler\nriver stream\n", lambda path: read_lexicon(path, "groups")),
        _file("pairs.csv", b"king,queen,0.5\nriver,stream\n", read_lexicon),
        Target("wordnet", _make_wordnet, read_wordnet),
        _file("similarity", b"king\tqueen\t8.5\nriver\thouse\t1\n", read_own_pairs),
        _file("questions", b": family\nking queen man woman\n", read_own_questions),
        _file("categories", b"royal\tking\nroyal\tqueen\nplace\triver\n", read_own_categories),
        _file("labels", b"good\tthe old house\nbad\ta river\n" * 6, read_own_labelled),
    ]
    if find_spec("gensim"):
        plain.append(Target("gensim", lambda path: TABLE.save(path, "gensim"), formats.read, file="x.kv"))
    if find_spec("spacy"):
        plain.append(_table("table.spacy", "spacy"))
    if find_spec("torch"):
        plain += [
            Target("uses", _make_uses, _read_uses, checked=("vectors.safetensors", "uses.jsonl")),
            Target("sums of a shard", _make_part, _read_part, file="part", checked=("",)),
            Target("ledger", _make_ledger, _read_ledger),
            Target("triples", _make_triples, _read_triples, file="triples.jsonl"),
        ]
    if find_spec("torch") and find_spec("h5py"):
        plain.append(Target("elmo", _make_elmo, _read_elmo))
    if find_spec("pyarrow"):
        plain += [_table("table.parquet", "parquet", seconds=30), _parquet_text()]
    return plain


def _make_elmo(path: Path) -> None:
    """The smallest ELMo: one filter, one highway, one layer, of zeros."""
    import h5py

    path.mkdir()
    lstm = {"use_skip_connections": True, "projection_dim": 2, "cell_clip": 3, "proj_clip": 3, "dim": 3, "n_layers": 1}
    characters = {"activation": "relu", "filters": [[1, 2]], "n_highway": 1, "embedding": {"dim": 1}}
    options = {"lstm": lstm, "char_cnn": characters | {"max_characters_per_token": 5}}
    (path / "options.json").write_text(json.dumps(options))
    shapes = {"char_embed": (261, 1), "CNN/W_cnn_0": (1, 1, 1, 2), "CNN/b_cnn_0": (2,)}
    for name in ("carry", "transform"):
        shapes |= {f"CNN_high_0/W_{name}": (2, 2), f"CNN_high_0/b_{name}": (2,)}
    shapes |= {"CNN_proj/W_proj": (2, 2), "CNN_proj/b_proj": (2,)}
    for direction in range(2):
        cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell0/LSTMCell"
        shapes |= {f"{cell}/W_0": (4, 12), f"{cell}/B": (12,), f"{cell}/W_P_0": (3, 2)}
    with h5py.File(path / "weights.hdf5", "w") as file:
        for name, shape in shapes.items():
            file[name] = np.zeros(shape, np.float32)


def _read_elmo(path: Path) -> None:
    from wordstill.teacher.loading import load_model_and_tokenizer

    load_model_and_tokenizer(path)


def _parquet_text() -> Target:
    def make(path: Path) -> None:
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({"text": TEXT.split("\n")}), path)

    return Target("text.parquet", make, _text("x", b"").read, file="text.parquet", seconds=30)


TARGETS = {target.name: target for target in _targets()}
