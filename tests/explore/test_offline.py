"""The page as one file: it fits, it says what it leaves out, and it holds what it needs."""

import base64
import gzip
import json
import re

import pytest

from wordstill.errors import DataError
from wordstill.explore import offline
from wordstill.explore.library import Library
from wordstill.explore.offline import make_page


def content_of(page):
    data = json.loads(re.search(rb'<script id="data"[^>]*>(.*?)</script>', page)[1])
    return json.loads(gzip.decompress(base64.b64decode(data["content"]))), data["vectors"]


def test_the_page_refers_to_no_other_file(library):
    page, written = make_page(library)
    assert written.notes == []
    text = page.decode()
    head = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r'(?:src|href)="(?!#|data:)', head)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "unsafe" not in policy
    assert "connect-src" not in policy
    assert make_page(library)[0] == page


def test_a_page_that_would_be_too_large_holds_the_most_frequent_words(tables, monkeypatch):
    library = Library({"first": tables["first"]}, method="pca")
    whole = len(make_page(library)[0])
    monkeypatch.setattr(offline, "FEWEST_WORDS", 5)
    monkeypatch.setattr(offline, "SPARE_BYTES", 0)
    page, written = make_page(library, whole - 300)
    assert len(page) <= whole - 300
    assert written.words < 40
    (note,) = written.notes
    assert f"the {written.words} most frequent of the 40 words of first" in note
    content, vectors = content_of(page)
    assert content["loaded"][0]["words"] == list(tables["first"].words[: written.words])
    assert content["contents"]["note"] == note
    assert len(base64.b64decode(vectors[0]["numbers"])) == written.words * tables["first"].dim
    with pytest.raises(DataError, match="expected at most"):
        make_page(library, 1000)


def test_sentences_hold_the_words_that_they_are_shown_for(library):
    content, _ = content_of(make_page(library)[0])
    lines = content["lines"]
    for word, places in lines["places"].items():
        for sentence, start, length in places:
            assert lines["texts"][sentence][start : start + length].lower() == word
    assert lines["totals"]["river"] == 2
