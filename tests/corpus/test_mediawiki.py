from __future__ import annotations

import bz2
import html
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wordstill.core.text_io import create_bytes
from wordstill.corpus import PrepareConfig, mediawiki, prepare
from wordstill.corpus.mediawiki import prose, read_pages
from wordstill.corpus.sources import find_sources
from wordstill.errors import DataError

pytest.importorskip("mwparserfromhell", reason="needs mwparserfromhell")

NINE = "one two three four five six seven eight nine"

DUMP = f"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
  <siteinfo><sitename>Test</sitename></siteinfo>
  <page><title>First</title><ns>0</ns><revision><text>'''First''' {NINE} [[ten|Ten]] &amp;amp; more.

{NINE} eleven twelve.</text></revision></page>
  <page><title>Redirect</title><ns>0</ns><redirect title="First" />
    <revision><text>#REDIRECT [[First]] {NINE} ten.</text></revision></page>
  <page><title>Talk:First</title><ns>1</ns><revision><text>Talk {NINE} ten.</text></revision></page>
  <page><title>Empty</title><ns>0</ns><revision><text /></revision></page>
</mediawiki>
"""

MARKS = (
    "{{", "}}", "[[", "]]", "[http://foo.org ", "]", "|", "=", "{{lang|el|", "{{convert|5|km}}", "{{{x|", "}}}",
    "<ref name='a'>", "</ref>", "<br />", "<!--", "-->", "&nbsp;", "&#x41;", "== ", "* ", "''", "[[File:a.jpg|",
    "<b>", "</b>", "{|", "|-", "|}", "<div class={{x}}>", "</div>",
)  # fmt: skip
"""What the parser takes for markup."""

PROSE = {
    f"{NINE} ''ten'' '''eleven'''.": [f"{NINE} ten eleven."],
    f"{NINE} [[Page]] [[Page (x)|shown]]s [[:Category:Y|there]].": [f"{NINE} Page showns there."],
    f"[[File:a.jpg|thumb|A caption with a [[link]] that is long enough to be a sentence.]]{NINE} ten.": [
        f"{NINE} ten."
    ],
    f"[[Datei:a.svg|mini|Eine Bildunterschrift]]{NINE} ten. [[de:Seite]] [[Category:X]]": [f"{NINE} ten."],
    f"{NINE} ten<ref name='a'>{NINE} ten.</ref>, eleven<ref name='a' />.": [f"{NINE} ten, eleven."],
    f"{NINE} (; born 1809) ( , ) {{{{IPA|x}}}} ten .": [f"{NINE} (born 1809) ten."],
    f"{NINE} is {{{{convert|5|km|mi}}}} long &ndash; or {{{{lang|el|λόγος}}}}{{{{citation needed}}}}.": [
        f"{NINE} is 5 km long – or λόγος."
    ],
    f"{{|class='wikitable'\n|-\n| {NINE} ten.\n|}}\n{NINE} ten.": [f"{NINE} ten."],
    f"== Heading {NINE}. ==\n{NINE} ten.": [f"{NINE} ten."],
    f"* {NINE} ten eleven.\n# {NINE} ten eleven.\n{NINE} ten!": [f"{NINE} ten!"],
    f"{NINE} <math>x^2</math> <!-- hidden --> ten?": [f"{NINE} ten?"],
    f"{NINE} [http://foo.org shown] ten [http://foo.org].": [f"{NINE} shown ten."],
    f"{NINE} ten http://foo.org eleven.": [f"{NINE} ten eleven."],
    f"{NINE} [[OS&nbsp;X]]&nbsp;ten &lt; eleven.": [f"{NINE} OS X ten < eleven."],
    f"{NINE} ten {{{{unclosed.": [],
    f"{NINE} ten with no end": [],
    "Too short.": [],
    "": [],
    "{{" * 500 + "x" + "}}" * 499: [],
}


@pytest.mark.parametrize("markup", PROSE)
def test_prose_of_markup(markup: str) -> None:
    assert prose(markup) == PROSE[markup]


def test_pages_of_a_dump(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml.bz2"
    path.write_bytes(bz2.compress(DUMP.encode()))
    with find_sources([path])[0].open() as stream:
        pages = list(read_pages(stream))
    assert [page[:11] for page in pages] == ["'''First'''", ""]
    corpus = prepare([path], tmp_path / "store")
    assert [paragraph.text for paragraph in corpus] == [f"First {NINE} Ten & more.", f"{NINE} eleven twelve."]


def test_a_dump_that_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml.bz2"
    path.write_bytes(bz2.compress(DUMP.replace("Test", "x" * 100_000).encode())[:-20])
    with pytest.raises(DataError, match=r"dump\.xml\.bz2: the bzip2 data are broken or cut short"):
        prepare([path], tmp_path / "store")


@pytest.mark.parametrize("kind", ["", ".bz2", ".gz", ".xz", ".zst"])
def test_a_dump_that_ends_in_the_middle_is_read_up_to_there(kind: str, tmp_path: Path) -> None:
    pages = "".join(
        f"<page><ns>0</ns><revision><text>{NINE} number {number}.\n</text></revision></page>\n" for number in range(99)
    )
    path = tmp_path / f"dump.xml{kind}"
    # The first part is longer than what is read at once, the second one is shorter.
    parts = [f"<mediawiki>\n{pages}<!--{'x' * 5_000_000}-->".encode(), pages.encode(), pages.encode()]
    with path.open("wb") as file:
        for part in parts:
            with tempfile.TemporaryDirectory() as folder:
                with create_bytes(Path(folder) / path.name) as packed:
                    packed.write(part)
                file.write((Path(folder) / path.name).read_bytes())
    path.write_bytes(path.read_bytes()[: -20 if kind else -len(parts[2]) // 2])
    with pytest.warns(UserWarning, match=r"dump\.xml.*\. The \d+ pages before it are kept; the rest is missing\.$"):
        corpus = prepare([path], tmp_path / "store", workers=1)
    assert 198 <= len(corpus) <= 297


def test_text_is_that_of_the_tree_that_the_parser_builds() -> None:
    """The tokens of a page give what a walk through its tree gives, node by node."""
    rng = random.Random(0)
    marks = [*MARKS, *"abc "] * 3 + ["\n"] + [f"{NINE} ten."] * 8
    for _ in range(400):
        markup = "".join(rng.choices(marks, k=30))
        assert prose(markup) == slow_prose(markup), markup


def slow_prose(markup: str) -> list[str]:
    import mwparserfromhell

    try:
        text = "".join(tree_text(mwparserfromhell.parse(markup, skip_style_tags=True)))
    except mwparserfromhell.parser.ParserError:
        return []
    lines = (mediawiki.tidy(line) for line in html.unescape(text).split("\n"))
    return [line for line in lines if mediawiki.reads_like_prose(line)]


def tree_text(tree: Any) -> Iterator[str]:  # noqa: C901
    from mwparserfromhell import nodes

    for node in tree.nodes:
        if isinstance(node, nodes.Text):
            yield node.value
        elif isinstance(node, nodes.Wikilink):
            title = str(node.title)
            language = node.text is None and mediawiki._LANGUAGE_LINK.match(title)
            if not mediawiki._FILE_LINK.match(title) and not language:
                yield from [title.removeprefix(":")] if node.text is None else tree_text(node.text)
        elif isinstance(node, nodes.Tag):
            name = str(node.tag).strip().lower()
            if name not in mediawiki.DROPPED_TAGS:
                yield mediawiki.LIST_MARK if name in mediawiki.LIST_TAGS else ""
                yield "\n" if name in mediawiki.LINE_TAGS and not node.wiki_markup else ""
                yield from tree_text(node.contents) if node.contents is not None else ()
        elif isinstance(node, nodes.ExternalLink):
            yield from tree_text(node.title) if node.title is not None else ()
        elif isinstance(node, nodes.Template):
            shown = mediawiki.SHOWN_TEMPLATES.get(str(node.name).strip().lower())
            values = [each.value for each in node.params if not each.showkey][shown] if shown else []
            yield " ".join("".join(tree_text(value)) for value in values)
        elif isinstance(node, nodes.HTMLEntity):
            yield node.normalize() or ""
        elif isinstance(node, nodes.Heading):
            yield "\n"


@pytest.mark.slow
def test_a_real_excerpt(tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim", reason="needs the dump inside gensim")
    folder = Path(gensim.__file__).parent / "test" / "test_data"
    dump = folder / "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    corpus = prepare([dump], tmp_path / "store", PrepareConfig(filter="none"))
    assert 4_500 < len(corpus) < 5_500
    assert 400_000 < corpus.n_words < 500_000
    remains = re.compile(r"thumb\||\{\{|\}\}|\[\[|\]\]|\|-|https?://|''|&[a-z]+;|<ref|^[*#=:|]")
    assert [text for index in range(len(corpus)) if remains.search(text := corpus.text(index))] == []
