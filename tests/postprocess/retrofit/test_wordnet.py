from __future__ import annotations

import os
from pathlib import Path

import pytest

from wordstill.errors import DataError, UsageError
from wordstill.postprocess.retrofit import open_lexicon, read_wordnet

LICENCE = "  1 A licence that is indented.  \n"
NOUNS = (
    '00000001 03 n 02 hound 0 domestic_dog 0 002 @ 00000002 n 0000 ~ 00000009 n 0000 | a "good | bad" dog  \n'
    "00000002 03 n 01 animal 0 000 | a living thing  \n"
    "00000009 03 n 01 Rex 0 001 @i 00000001 n 0000 | one dog  \n"
)
ADJECTIVES = (
    "00000001 00 a 02 hot 0 galore(ip) 0 002 ! 00000002 a 0101 & 00000003 a 0000 | warm  \n"
    "00000002 00 a 02 cold 0 frozen 1 001 ! 00000001 a 0101 | not hot  \n"
    "00000003 00 s 0a a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 001 & 00000001 a 0000 | ten words  \n"
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "dict").mkdir()
    (tmp_path / "dict" / "data.noun").write_text(LICENCE + NOUNS)
    (tmp_path / "dict" / "data.adj").write_text(LICENCE + ADJECTIVES)
    return tmp_path


def pairs(lexicon):
    return {frozenset(link[:2]) for link in lexicon.links()}


def test_synonyms(folder):
    found = pairs(open_lexicon(folder))
    assert found >= {frozenset(["hound", "domestic dog"]), frozenset(["hot", "galore"]), frozenset(["cold", "frozen"])}
    assert len(found) == 3 + 45
    assert pairs(read_wordnet(folder / "dict")) == found


def test_hypernyms_of_kinds_and_of_instances(folder):
    assert pairs(open_lexicon(folder, relations=["hypernyms"])) == {
        frozenset(["hound", "animal"]),
        frozenset(["domestic dog", "animal"]),
        frozenset(["Rex", "hound"]),
        frozenset(["Rex", "domestic dog"]),
    }


def test_antonyms_are_between_words_not_synsets(folder):
    assert pairs(open_lexicon(folder, relations=["antonyms"])) == {frozenset(["hot", "cold"])}


def test_a_database_without_such_links(folder):
    (folder / "dict" / "data.adj").unlink()
    with pytest.raises(DataError, match="links no words by antonyms"):
        read_wordnet(folder, ["antonyms"])


def test_origin(folder):
    assert read_wordnet(folder, ["hypernyms", "synonyms"]).origin["relations"] == ["synonyms", "hypernyms"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("00000003 03 n 02 cat 0\n", r"data\.noun:5: not a line of a WordNet data file: '00000003"),
        ("00000003 03 n xx cat 0 000 |\n", r"data\.noun:5: not a line"),
        ("00000003 03 n 01 cat 0 001 @ 00000077 n 0000 |\n", r"noun:5: points to the synset 00000077 \(n\)"),
        ("00000003 03 n 01 cat 0 001 ! 00000002 n 0105 |\n", r"noun:3: has 1 words, but word 5 is"),
        ("word vectors are not a database\n", r"data\.noun:5: not a line"),
    ],
)  # fmt: skip
def test_broken_lines(folder, line, message):
    with (folder / "dict" / "data.noun").open("a") as handle:
        handle.write(line)
    with pytest.raises(DataError, match=message):
        read_wordnet(folder, ["synonyms", "hypernyms", "antonyms"])


def test_relations_that_are_none(folder):
    with pytest.raises(UsageError, match=r"Unknown relation 'synonym'\. Did you mean 'synonyms'"):
        open_lexicon(folder, relations=["synonym"])
    with pytest.raises(UsageError, match="No relation was named"):
        open_lexicon(folder, relations=[])


@pytest.mark.slow
def test_a_real_database():
    """Princeton WordNet 3.0, as Debian's package wordnet-base has it."""
    place = os.environ.get("WORDSTILL_WORDNET", "/usr/share/wordnet")
    if not (Path(place) / "data.noun").is_file():
        pytest.skip("no WordNet database at $WORDSTILL_WORDNET or /usr/share/wordnet")
    synonyms = open_lexicon(place)
    assert len(synonyms) == 152_428
    assert frozenset(["car", "automobile"]) in pairs(synonyms)
    antonyms = pairs(open_lexicon(place, relations=["antonyms"]))
    assert frozenset(["hot", "cold"]) in antonyms
    assert len(antonyms) == 3_555


LMF = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.0.dtd">
<LexicalResource xmlns:dc="http://purl.org/dc/elements/1.1/">
  <Lexicon id="tiny" label="Tiny" language="en" email="a@b.c" license="https://x.y" version="1">
    <LexicalEntry id="e1"><Lemma writtenForm="hot" partOfSpeech="a"/>
      <Sense id="s1" synset="y1"><SenseRelation relType="antonym" target="s3"/></Sense></LexicalEntry>
    <LexicalEntry id="e2"><Lemma writtenForm="very_warm" partOfSpeech="a"/>
      <Sense id="s2" synset="y1"/></LexicalEntry>
    <LexicalEntry id="e3"><Lemma writtenForm="cold" partOfSpeech="a"/>
      <Sense id="s3" synset="y2"/></LexicalEntry>
    <LexicalEntry id="e4"><Lemma writtenForm="dog" partOfSpeech="n"/>
      <Sense id="s4" synset="y3"/></LexicalEntry>
    <LexicalEntry id="e5"><Lemma writtenForm="animal" partOfSpeech="n"/>
      <Sense id="s5" synset="y4"/></LexicalEntry>
    <Synset id="y1" ili="" partOfSpeech="a"/>
    <Synset id="y2" ili="" partOfSpeech="a"/>
    <Synset id="y3" ili="" partOfSpeech="n"><SynsetRelation relType="hypernym" target="y4"/></Synset>
    <Synset id="y4" ili="" partOfSpeech="n"/>
  </Lexicon>
</LexicalResource>
"""


@pytest.fixture
def wn_database(tmp_path):
    wn = pytest.importorskip("wn")
    usual = wn.config.database_path.parent
    wn.config.data_directory = tmp_path
    (tmp_path / "tiny.xml").write_text(LMF)
    wn.add(tmp_path / "tiny.xml", progress_handler=None)
    yield wn
    wn.config.data_directory = usual


@pytest.mark.parametrize(
    ("relation", "expected"),
    [("synonyms", [["hot", "very warm"]]), ("hypernyms", [["dog", "animal"]]), ("antonyms", [["hot", "cold"]])],
)
def test_through_wn(wn_database, relation, expected):
    lexicon = open_lexicon("wn:tiny:1", relations=[relation])
    assert pairs(lexicon) == {frozenset(pair) for pair in expected}
    assert lexicon.origin == {"wn": "tiny:1", "relations": [relation]}


def test_a_wordnet_that_wn_does_not_have(wn_database):
    with pytest.raises(DataError, match=r"has no wordnet 'oewn:1900' .* python -m wn download oewn:1900"):
        open_lexicon("wn:oewn:1900")


def test_a_synset_of_too_many_words(tmp_path):
    """D10: all pairs of 20,000 words took minutes."""
    words = " ".join(f"word{number} 0" for number in range(20_000))
    (tmp_path / "data.noun").write_text(f"00000001 03 n {20_000:x} {words} 000 | a gloss\n")
    with pytest.raises(DataError, match=r"A group of 20,000 words has more than [0-9,]+ links.*--limits links=N"):
        open_lexicon(tmp_path)
