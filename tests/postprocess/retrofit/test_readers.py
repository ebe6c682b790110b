from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill.errors import DataError, UsageError
from wordstill.postprocess.retrofit import lexicon as readers
from wordstill.postprocess.retrofit import open_lexicon, read_lexicon


def links(lexicon):
    return {frozenset(link[:2]): link[2] for link in lexicon.links()}


def pairs(*texts):
    return {frozenset(text.split("|")): 1.0 for text in texts}


@pytest.mark.parametrize(
    ("name", "format", "text", "expected"),
    [
        ("l.txt", None, "big large huge\nlarge big\none\n\nsly coy\n", ["big|large", "big|huge", "sly|coy"]),
        ("l.txt", None, "\ufeffbig  large \r\nsmall\tlittle\r\n", ["big|large", "small|little"]),
        ("l.txt", None, "ice cream\tgelato\nice\twater ice\n", ["ice cream|gelato", "ice|water ice"]),
        ("l", "groups", "a b c\nd\n", ["a|b", "a|c", "b|c"]),
        ("l.csv", None, "a,b\nc,d\n", ["a|b", "c|d"]),
        ("l.csv", None, "first,second,weight\na,b,1\n", ["a|b"]),
        ("l.csv", None, '"a, b",c,1\n', ["a, b|c"]),
        ("l.tsv", None, "ice cream\tgelato\t1.0\n", ["ice cream|gelato"]),
        ("l.txt", "pairs", "a,b,1\n", ["a|b"]),
        ("l.txt", None, "naïve ingénue\u00a0x\U0001f600\n", ["naïve|ingénue\u00a0x\U0001f600"]),
    ],
)  # fmt: skip
def test_formats(tmp_path, name, format, text, expected):
    path = tmp_path / name
    path.write_bytes(text.encode())
    assert links(read_lexicon(path, format)) == pairs(*expected)


def test_blanks_are_inside_words_only_if_the_first_line_has_tabs(tmp_path):
    path = tmp_path / "l.txt"
    path.write_text("a b\nc\td e\n")
    assert links(read_lexicon(path)) == pairs("a|b", "c|d", "c|e")
    path.write_text("a\tb\nc\td e\nf g\n")
    assert links(read_lexicon(path)) == pairs("a|b", "c|d e")


def test_weights(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text("a,b,0.5\nb,a,2\nc,d\n")
    assert links(read_lexicon(path)) == {frozenset("ab"): 2.0, frozenset("cd"): 1.0}


def test_origin_and_compression(tmp_path):
    path = tmp_path / "l.csv.gz"
    path.write_bytes(gzip.compress(b"a,b,2\n"))
    lexicon = read_lexicon(path)
    assert links(lexicon) == {frozenset("ab"): 2.0}
    assert {"file", "sha256", "format", "links"} == set(lexicon.origin)
    assert lexicon.origin["format"] == "pairs"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("l.csv", b"a,b\na\n", r"l\.csv:2: expected two words and perhaps a weight, but got \['a'\]"),
        ("l.csv", b"a,b\n,b,1\n", r"l\.csv:2: expected two words"),
        ("l.csv", b"a,b,1,1\n", r"l\.csv:1: expected two words"),
        ("l.csv", b"a,b,1\nc,d,heavy\n", r"l\.csv:2: expected a finite weight above 0 but got 'heavy'"),
        ("l.csv", b"a,b,1\nc,d,nan\n", r"l\.csv:2: expected a finite weight"),
        ("l.csv", b"a,b,1\nc,d,-1\n", r"l\.csv:2: expected a finite weight"),
        ("l.csv", b"a,b,0\n", r"l\.csv:1: expected a finite weight"),
        ("l.csv", b"a,b,1e300\n", r"l\.csv:1: expected a finite weight"),
        ("l.csv", b"a,b,1e-300\n", r"l\.csv:1: expected a finite weight"),
        ("l.csv", b'a,"b\n', r"l\.csv:1: not comma-separated values"),
        ("l.txt", b"a b\n\xff\xfe\n", r"l\.txt:2: not UTF-8"),
        ("l.txt", b"a b\nc \x00d\n", r"l\.txt:2: a zero byte"),
        ("l.txt", b"", "links no words. Expected lines of a word and its neighbors"),
        ("l.txt", b"alone\nalone\n", "links no words"),
    ],
)  # fmt: skip
def test_bad_files_are_told_with_their_line(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_lexicon(path)


def test_what_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "l.txt"
    path.write_text("x y\n" + "a " * 50 + "\n")
    monkeypatch.setattr(readers, "LARGEST_GROUP", 49)
    with pytest.raises(DataError, match=r"l\.txt:2: a group of 50 words; the limit is 49"):
        read_lexicon(path, "groups")


def test_names_that_lead_nowhere(tmp_path):
    with pytest.raises(UsageError, match=r"Unknown format of a lexicon 'pair'\. Did you mean 'pairs'"):
        read_lexicon(tmp_path, "pair")
    with pytest.raises(DataError, match="There is no lexicon"):
        open_lexicon(tmp_path / "nothing.txt")
    with pytest.raises(DataError, match="is not a WordNet database"):
        open_lexicon(tmp_path)


def test_a_folder_instead_of_a_file_is_no_traceback(tmp_path):
    with pytest.raises(DataError, match="Cannot read"):
        read_lexicon(tmp_path)


word = st.text(st.characters(blacklist_characters="\n\r\t\x00 ", blacklist_categories=("Cs",)), min_size=1).filter(
    lambda text: text.strip() == text
)


@given(st.lists(st.lists(word, min_size=2, max_size=5), min_size=1, max_size=8))
def test_any_words_without_blanks_come_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("lexicon") / "l.txt"
    path.write_bytes("\n".join(" ".join(row) for row in rows).encode())
    expected = {frozenset((row[0], other)) for row in rows for other in row[1:] if other != row[0]}
    if rows[0][0].startswith("\ufeff"):
        return
    if not expected:
        with pytest.raises(DataError, match="links no words"):
            read_lexicon(path)
        return
    assert set(links(read_lexicon(path))) == expected


@given(st.binary(max_size=200), st.sampled_from(["neighbours", "groups", "pairs"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, format):
    path = tmp_path_factory.mktemp("lexicon") / "l.txt"
    path.write_bytes(content)
    try:
        lexicon = read_lexicon(Path(path), format)
    except DataError:
        return
    assert len(lexicon) >= 1


def test_links_have_a_limit(tmp_path, monkeypatch):
    """D10: groups of 5,000 words filled the memory."""
    path = tmp_path / "l.txt"
    path.write_text("\n".join(" ".join(f"w{group}x{number}" for number in range(30)) for group in range(4)))
    assert len(read_lexicon(path, "groups")) == 4 * 30 * 29 // 2
    monkeypatch.setenv("WORDSTILL_LIMITS", "links=1000")
    with pytest.raises(DataError, match=r"more than 1,000 links.*--limits links=N"):
        read_lexicon(path, "groups")
    monkeypatch.setenv("WORDSTILL_LIMITS", "links=400")
    with pytest.raises(DataError, match=r"A group of 30 words has more than 400 links"):
        read_lexicon(path, "groups")
