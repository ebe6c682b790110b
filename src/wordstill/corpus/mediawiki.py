"""MediaWiki XML dumps: the articles of a stream, and the prose of their markup."""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any
from xml.etree import ElementTree

from wordstill.core.limits import Limits
from wordstill.corpus.sources import Stream
from wordstill.errors import DataError, MissingExtra

MIN_PROSE_WORDS = 10
XML_BLOCK = 1 << 20
BRACKETS = {
    "{{": re.compile(r"(\{\{)|\}\}"),
    "{|": re.compile(r"(\{\|)|\|\}"),
    "[": re.compile(r"(\[)|\]"),
    "<!--": re.compile(r"(<!--)|-->"),
    "<": re.compile(r"(<[a-zA-Z])|>"),
    # Those that need no end are not counted.
    "</": re.compile(r"(<(?!(?i:br|hr|wbr|li|d[dt]|t[dhr])\b)[a-zA-Z])|</[a-zA-Z]|/>"),
}
"""What opens and closes, by what must be there for it."""

DROPPED_TAGS = frozenset({
    "ref", "references", "gallery", "math", "chem", "ce", "code", "syntaxhighlight", "source", "pre",
    "timeline", "score", "imagemap", "table", "tr", "td", "th", "hiero", "graph", "mapframe", "maplink",
    "templatedata", "indicator", "categorytree", "inputbox", "poem", "noinclude", "includeonly", "style",
})  # fmt: skip
LIST_TAGS = frozenset({"li", "dt"})
LINE_TAGS = frozenset({"br", "hr", "p", "div", "blockquote", "dd"})
LIST_MARK = "\x02"
SHOWN_TEMPLATES = {"convert": slice(0, 2), "cvt": slice(0, 2), "lang": slice(1, 2), "nowrap": slice(0, 1)}
"""Templates that are part of a sentence, and the arguments that they show; all others are dropped."""

_FILE_LINK = re.compile(
    r"\s*(?:file|image|category|media)\s*:|.*\.(?:jpe?g|png|gif|svg|tiff?|og[gv]|webm|pdf)\s*$", re.I
)
_LANGUAGE_LINK = re.compile(r"\s*[a-z]{2,3}(?:-[a-z]+)?:")
_STYLE_MARKS = re.compile(r"'{2,}|__[A-Z]+__")
_EMPTY_BRACKETS = re.compile(r"\( ?(?:[,;:]|or|and)? ?\)|\[ ?\]")
_OPENING_BRACKET = re.compile(r"\( ?[,;:] ?|\( ")
_SPACE_BEFORE_MARK = re.compile(r" (?=[,.)])")
_MARKUP = re.compile(r"\{\{|\}\}|\{\||\|\}|\[\[|\]\]|\|\||\|-|\bthumb\||^[|!]|</?[a-z]+[^>]*>|https?://")
_SENTENCE_END = re.compile(r"[.!?…:。！？：।॥؟۔][\"'”’»›)\]】」』]*$")


def read_pages(stream: Stream) -> Iterator[str]:
    """The markup of every article of a dump; redirects and other namespaces are skipped."""
    if find_spec("mwparserfromhell") is None:
        raise MissingExtra("mwparserfromhell", "wikipedia", "Reading MediaWiki dumps")
    meter, limits, name = _Meter(stream), stream.limits, stream.source.name
    nested, page = f"{name}: XML elements are nested", f"{name}: a page has"
    depth = elements = 0
    try:
        events = ElementTree.iterparse(meter, events=("start", "end"))
        _, root = next(events)
        for event, element in events:
            if event == "start":
                depth, elements = depth + 1, elements + 1
                limits.refuse("depth", depth, nested, "levels")
                limits.refuse("page_elements", elements, page, "XML elements")
                continue
            depth -= 1
            if depth > 0:
                continue
            if (
                element.tag.rpartition("}")[2] == "page"
                and element.findtext("{*}ns", "0") == "0"
                and element.find("{*}redirect") is None
            ):
                yield element.findtext("{*}revision/{*}text", "")
            root.clear()
            elements = meter.bytes = 0
    except ElementTree.ParseError as error:
        line, column = error.position
        raise DataError(
            f"{stream.source.name}:{line}: broken XML at column {column} ({error}). Download the dump again: "
            "it may be cut short."
        ) from error


class _Meter:
    """A stream that gives large blocks and counts what came since the last page.

    The parser looks at an unfinished token again for each block that it gets, so small blocks make long tokens slow.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream, self.bytes = stream, 0

    def read(self, _: int = 0) -> bytes:
        block = self.stream.read(XML_BLOCK)
        self.bytes += len(block)
        self.stream.limits.refuse("page_bytes", self.bytes - len(block), f"{self.stream.source.name}: a page has")
        return block


def prose(markup: str) -> list[str]:
    """The paragraphs of running text in the markup of a page.

    Tables, references, templates, headings, lists, files, categories and formulas are dropped. So are lines
    that are no sentences: fewer than ten words, or no full stop or colon at the end. A page that cannot be
    parsed has no paragraphs.
    """
    import mwparserfromhell

    limits = Limits.chosen()
    if _parsing_steps(markup) > limits.page_steps:
        warnings.warn(
            f"A page was skipped: so many of its brackets or tags are never closed that it would take minutes to "
            f"parse ({markup[:60]!r}). If it is sound, {limits.advice('page_steps')}",
            stacklevel=2,
        )
        return []
    try:
        tree = mwparserfromhell.parse(markup, skip_style_tags=True)
        text = "".join(_texts(tree))
    except (mwparserfromhell.parser.ParserError, RecursionError):
        return []
    # The parser leaves entities inside links.
    lines = (_tidy(line) for line in html.unescape(text).split("\n"))
    return [line for line in lines if _reads_like_prose(line)]


def _parsing_steps(markup: str) -> int:
    """About how many characters the parser looks at, at least.

    It tries each bracket or tag that is never closed up to the end of the page, and starts again.
    """
    most = 1
    for mark, pattern in BRACKETS.items():
        if markup.count(mark[0]) > most:
            depth = 0
            for match in pattern.finditer(markup):
                depth = depth + 1 if match[1] else max(0, depth - 1)
                most = max(most, depth)
    return most * len(markup)


def _texts(tree: Any) -> Iterator[str]:
    """The text of a parsed tree, depth first."""
    from mwparserfromhell import nodes

    for node in tree.nodes:
        if isinstance(node, nodes.Text):
            yield node.value
        elif isinstance(node, nodes.Wikilink):
            yield from _link_text(node)
        elif isinstance(node, nodes.Tag):
            yield from _tag_text(node)
        elif isinstance(node, nodes.ExternalLink):
            if node.title is not None:
                yield from _texts(node.title)
        elif isinstance(node, nodes.Template):
            yield from _template_text(node)
        elif isinstance(node, nodes.HTMLEntity):
            yield node.normalize() or ""
        elif isinstance(node, nodes.Heading):
            yield "\n"


def _link_text(link: Any) -> Iterator[str]:
    title = str(link.title)
    if _FILE_LINK.match(title) or (link.text is None and _LANGUAGE_LINK.match(title)):
        return
    if link.text is None:
        yield title.removeprefix(":")
    else:
        yield from _texts(link.text)


def _template_text(template: Any) -> Iterator[str]:
    shown = SHOWN_TEMPLATES.get(str(template.name).strip().lower())
    if shown is not None:
        arguments = [parameter.value for parameter in template.params if not parameter.showkey][shown]
        for number, value in enumerate(arguments):
            yield " " if number else ""
            yield from _texts(value)


def _tag_text(tag: Any) -> Iterator[str]:
    name = str(tag.tag).strip().lower()
    if name in DROPPED_TAGS:
        return
    if name in LIST_TAGS:
        yield LIST_MARK
    elif name in LINE_TAGS:
        yield "\n" if not tag.wiki_markup else ""
    if tag.contents is not None:
        yield from _texts(tag.contents)


def _tidy(line: str) -> str:
    """The line without the remains of dropped markup: style marks, empty brackets, repeated spaces."""
    # Single spaces first: patterns for any number of them would take the square of that number.
    line = " ".join(_STYLE_MARKS.sub("", line).split())
    line = " ".join(_EMPTY_BRACKETS.sub("", line).split())
    line = _OPENING_BRACKET.sub("(", line)
    return " ".join(_SPACE_BEFORE_MARK.sub("", line).split())


def _reads_like_prose(line: str) -> bool:
    return (
        LIST_MARK not in line
        and len(line.split()) >= MIN_PROSE_WORDS
        and _SENTENCE_END.search(line) is not None
        and _MARKUP.search(line) is None
    )
