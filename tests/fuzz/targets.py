"""The readers that are fuzzed: how each one's seeds are made, by the tool itself, and how they are read."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import struct
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from tests.fuzz.own_files import OWN_FILES
from tests.fuzz.seeds import TABLE, TEXT, Target, digest
from wordstill import formats
from wordstill.analysis.context_vectors import read_documents
from wordstill.analysis.expansion import read_decisions
from wordstill.analysis.ratings import read_ratings
from wordstill.analysis.synonyms import read_review
from wordstill.analysis.word_lists import read_tests
from wordstill.core.tensors import write_tensors
from wordstill.core.text_io import read_word_list
from wordstill.corpus import PrepareConfig
from wordstill.corpus.conllu import collapse, read_trees
from wordstill.corpus.paragraphs import group_parts, read_paragraphs
from wordstill.corpus.readers import read_parts
from wordstill.corpus.sources import find_sources
from wordstill.evaluation.data.analogy_sets import read_own_questions
from wordstill.evaluation.data.category_sets import read_own_categories
from wordstill.evaluation.data.similarity_sets import read_own_pairs
from wordstill.evaluation.data.text_sets import read_own_labeled
from wordstill.explore.library import read_scores
from wordstill.postprocess.retrofit.lexicon import read_lexicon
from wordstill.postprocess.retrofit.wordnet import read_wordnet

CONLLU = b"""\
# newpar
1-2\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
1\tca\t_\t_\t_\t_\t0\troot\t_\t_
2\tn't\t_\t_\t_\t_\t1\tadvmod\t_\t_
3\ton\t_\t_\t_\t_\t4\tcase\t_\t_
4\trivers\t_\t_\t_\t_\t1\tobl\t_\tSpaceAfter=No

1\tKings\t_\t_\t_\t_\t0\troot\t_\t_
"""
PAGE = (
    "<page><title>A</title><ns>0</ns><revision><text>The [[river|old river]] runs {{convert|5|km}} past the very old "
)
PAGE += "house and nobody ever moved it.\n* a list\n&lt;ref&gt;x&lt;/ref&gt; {| \n| cell\n|}</text></revision></page>"
WIKI = f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">{PAGE * 3}</mediawiki>'


def _table(name: str, format: str, *, seconds: int = 5) -> Target:
    def use(path: Path) -> str:
        table = formats.read(path, format)
        table.find(["king", "kings"])
        if len(table) > 1:
            table.neighbors([table.words[0]], 2)
        formats.recognize(path)
        return digest(table.words, table.matrix)

    return Target(name, lambda path: TABLE.save(path, format), use, file=name, seconds=seconds)


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


def _make_wordllama(path: Path) -> None:
    vocabulary = {"Ġking": 0, "queen": 1, "Ġriver": 2}
    path.mkdir()
    write_tensors(path / "l2_4.safetensors", {"embedding.weight": TABLE.matrix[:3]}, {})
    (path / "l2_tokenizer_config.json").write_text(json.dumps({"model": {"type": "BPE", "vocab": vocabulary}}))


WORDNET = "00000001 03 n 02 king 0 ruler 0 001 @ 00000002 n 0000 | a gloss\n00000002 03 n 01 person 0 000 | another\n"


def _make_wordnet(path: Path) -> None:
    path.mkdir()
    (path / "data.noun").write_text(WORDNET)


def _make_triples(path: Path) -> None:
    from wordstill.meaning.occurrence import Occurrence
    from wordstill.meaning.triples import Triple, write_triples

    occurrence = Occurrence("the old bank", 8, 12)
    write_triples(path, [Triple(occurrence, occurrence, occurrence)] * 3, {"triples": 3})


def _read_triples(path: Path) -> None:
    from wordstill.meaning.triples import Triples

    for triple in Triples.read(path):
        triple.shown()


def _targets() -> list[Target]:
    plain = [
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
        # Streams are decompressed side by side.
        _text("streams.txt.xz", 2 * lzma.compress(TEXT.encode())),
        _text("text.txt.bz2", bz2.compress(TEXT.encode())),
        _text("text.txt.zst", zstandard.compress(TEXT.encode())),
        _text("text", TEXT.encode()),
        _text("text.csv", b'text,year\n"The old, house",1990\n"Two\nlines",2001\n', group="year", bins="decade"),
        _text("lines.jsonl", b"\n".join(json.dumps({"text": line}).encode() for line in TEXT.split("\n"))),
        _text("groups.jsonl", b'{"text": "A b.", "y": "1999-01"}\n{"text": "C.", "y": 5}\n', group="y", bins="month"),
        _text("wiki.xml", WIKI.encode()),
        _text("text.conllu", CONLLU),
        _file("trees.conllu", CONLLU, lambda path: [collapse(tree) for tree in read_trees(path)]),
        _file("word list", b"king\nqueen of hearts\n\nriver\n", read_word_list),
        _file("neighbours", b"king queen ruler\nriver stream\n", read_lexicon),
        _file("groups", b"king queen ruler\nriver stream\n", lambda path: read_lexicon(path, "groups")),
        _file("pairs.csv", b"king,queen,0.5\nriver,stream\n", read_lexicon),
        Target("wordnet", _make_wordnet, read_wordnet),
        _file("similarity", b"king\tqueen\t8.5\nriver\thouse\t1\n", read_own_pairs),
        _file("questions", b": family\nking queen man woman\n", read_own_questions),
        _file("categories", b"royal\tking\nroyal\tqueen\nplace\triver\n", read_own_categories),
        _file("scores.json", b'{"tables": {"t": {"wordsim353": 0.5}}, "protocol": "x"}', read_scores),
        Target("triples", _make_triples, _read_triples, file="triples.jsonl"),
        Target("wordllama", _make_wordllama, lambda path: formats.read(path, "wordllama")),
        _file("labels", b"good\tthe old house\nbad\ta river\n" * 6, read_own_labeled),
    ]
    if find_spec("gensim"):
        plain.append(Target("gensim", lambda path: TABLE.save(path, "gensim"), formats.read, file="x.kv"))
    if find_spec("spacy"):
        plain.append(_table("table.spacy", "spacy"))
    if find_spec("h5py"):
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

        parquet.write_table(pyarrow.table({"text": TEXT.split("\n")}), path, row_group_size=2)

    return Target("text.parquet", make, _text("x", b"").read, file="text.parquet", seconds=30)


TARGETS = {target.name: target for target in [*_targets(), *OWN_FILES]}
