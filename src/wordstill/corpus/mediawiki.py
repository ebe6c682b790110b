"""MediaWiki XML dumps: the articles of a stream, and the prose of their markup."""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any
from xml.etree import ElementTree

from wordstill.core.guard import Limits
from wordstill.corpus.sources import Stream
from wordstill.errors import DataError, MissingExtra

MIN_PROSE_WORDS = 10
XML_BLOCK = 1 << 20
ENDS_EARLY = (3, 5, 6)
"""The parser's error codes for truncated XML: no element, an open token, part of a character."""
BRACKETS = {
    "{{": re.compile(r"(\{\{)|\}\}"),
    "{|": re.compile(r"(\{\|)|\|\}"),
    "[": re.compile(r"(\[)|\]"),
    "<!--": re.compile(r"(<!--)|-->"),
    "<": re.compile(r"(<[a-zA-Z])|>"),
    # Those that need no closing tag are not counted.
    "</": re.compile(r"(<(?!(?i:br|hr|wbr|li|d[dt]|t[dhr])\b)[a-zA-Z])|</[a-zA-Z]|/>"),
}
"""Opening and closing markup, by a string that must be present."""

Tokens = Iterator[Any]
"""The parser's tokens from left to right; each is consumed once."""
CLOSING = {
    "TemplateOpen": ("TemplateClose",), "ArgumentOpen": ("ArgumentClose",), "WikilinkOpen": ("WikilinkClose",),
    "ExternalLinkOpen": ("ExternalLinkClose",), "TagOpenOpen": ("TagCloseClose", "TagCloseSelfclose"),
    "HTMLEntityStart": ("HTMLEntityEnd",), "HeadingStart": ("HeadingEnd",), "CommentStart": ("CommentEnd",),
}  # fmt: skip
"""The tokens that close a node, by its opening token."""

DROPPED_TAGS = frozenset({
    "ref", "references", "gallery", "math", "chem", "ce", "code", "syntaxhighlight", "source", "pre",
    "timeline", "score", "imagemap", "table", "tr", "td", "th", "hiero", "graph", "mapframe", "maplink",
    "templatedata", "indicator", "categorytree", "inputbox", "poem", "noinclude", "includeonly", "style",
})  # fmt: skip
LIST_TAGS = frozenset({"li", "dt"})
LINE_TAGS = frozenset({"br", "hr", "p", "div", "blockquote", "dd"})
LIST_MARK = "\x02"
SHOWN_TEMPLATES = {"convert": slice(0, 2), "cvt": slice(0, 2), "lang": slice(1, 2), "nowrap": slice(0, 1)}
"""Templates that are part of a sentence, with the arguments that they show; all others are dropped."""

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
    depth = elements = pages = 0
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
            is_page = element.tag.rpartition("}")[2] == "page"
            if is_page and element.findtext("{*}ns", "0") == "0" and element.find("{*}redirect") is None:
                yield element.findtext("{*}revision/{*}text", "")
            pages += is_page
            root.clear()
            elements = meter.bytes = 0
    except ElementTree.ParseError as error:
        line, column = error.position
        if error.code in ENDS_EARLY and pages:
            reason = meter.problem or f"{name}:{line}: the dump ends in the middle of a page."
            warnings.warn(f"{reason} The {pages:,} pages before it are kept; the rest is missing.", stacklevel=2)
            return
        if meter.problem is not None:
            raise meter.problem from error
        raise DataError(
            f"{stream.source.name}:{line}: broken XML at column {column} ({error}). Download the dump again: "
            "it may be cut short."
        ) from error


class _Meter:
    """A stream that returns large blocks and counts the bytes since the last page.

    The parser rereads an unfinished token with every block, so small blocks would make long tokens slow.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream, self.bytes = stream, 0
        self.problem: DataError | None = None

    def read(self, _: int = 0) -> bytes:
        pieces, size = [], 0
        while size < XML_BLOCK and self.problem is None:
            try:
                piece = self.stream.read_some(XML_BLOCK - size)
            except DataError as error:
                if "cut short" not in str(error):
                    raise
                # The parser reports the missing end; the pages before it are used.
                self.problem = error
                break
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
        self.bytes += size
        self.stream.limits.refuse("page_bytes", self.bytes - size, f"{self.stream.source.name}: a page has")
        return b"".join(pieces)


def prose(markup: str) -> list[str]:
    """The paragraphs of running text in the markup of a page.

    Tables, references, templates, headings, lists, files, categories and formulas are dropped, as are lines that are
    not sentences: fewer than ten words, or no full stop or colon at the end. A page that cannot be parsed has no
    paragraphs.
    """
    from mwparserfromhell.parser import ParserError

    limits = Limits.chosen()
    if _parsing_steps(markup) > limits.page_steps:
        warnings.warn(
            f"A page was skipped: so many of its brackets or tags are never closed that it would take minutes to "
            f"parse ({markup[:60]!r}). If it is sound, {limits.advice('page_steps')}",
            stacklevel=2,
        )
        return []
    try:
        text = _Walker().text(markup)
    except (ParserError, RecursionError):
        return []
    # The parser keeps entities inside links.
    lines = (tidy(line) for line in html.unescape(text).split("\n"))
    return [line for line in lines if reads_like_prose(line)]


def _parsing_steps(markup: str) -> int:
    """A lower bound of the number of characters that the parser reads.

    For each bracket or tag that is never closed, it reads to the end of the page and starts again.
    """
    most = 1
    for mark, pattern in BRACKETS.items():
        if markup.count(mark[0]) > most:
            depth = 0
            for match in pattern.finditer(markup):
                depth = depth + 1 if match[1] else max(0, depth - 1)
                most = max(most, depth)
    return most * len(markup)


class _Walker:
    """Extracts text from the parser's tokens, without building a tree, which would take most of the time.

    The tokens of a node are between an opening and a closing token, and nodes are nested. Each method below consumes
    the tokens of one kind of node, after its opening token.
    """

    def __init__(self) -> None:
        from mwparserfromhell.parser import Parser, ParserError, tokens

        self.parser: Any = Parser()  # type: ignore[no-untyped-call]
        self.error: Any = ParserError
        self.kinds: Any = tokens
        self.nodes: dict[Any, Callable[[Any, Tokens, list[str]], None]] = {
            tokens.WikilinkOpen: self._link,
            tokens.ExternalLinkOpen: self._external_link,
            tokens.TemplateOpen: self._template,
            tokens.TagOpenOpen: self._tag,
            tokens.HTMLEntityStart: self._entity,
            tokens.HeadingStart: self._heading,
            tokens.CommentStart: self._dropped(tokens.CommentEnd),
            tokens.ArgumentOpen: self._dropped(tokens.ArgumentClose),
        }

    def text(self, markup: str) -> str:
        """The text of a page."""
        found: list[str] = []
        self._walk(iter(self.parser._tokenizer.tokenize(markup, 0, True)), found, ())
        return "".join(found)

    def _walk(self, stream: Tokens, found: list[str], ends: tuple[Any, ...]) -> Any:
        """Add the text of nodes up to a closing token, which is returned; without ``ends``, to the end of the page."""
        text, nodes = self.kinds.Text, self.nodes
        for token in stream:
            kind = type(token)
            if kind is text:
                found.append(token.text)
            elif kind in ends:
                return token
            elif kind in nodes:
                nodes[kind](token, stream, found)
        if ends:
            raise self.error("a node has no end")
        return None

    def _raw(self, stream: Tokens, ends: tuple[Any, ...]) -> tuple[str, Any]:
        """The markup of nodes up to a closing token, and that token."""
        taken: list[Any] = []
        plain = True
        for token in stream:
            kind = type(token)
            if kind in ends:
                built = [each.text for each in taken] if plain else [str(self.parser._builder.build(taken))]
                return "".join(built), token
            taken.append(token)
            if kind is not self.kinds.Text:
                plain = False
                # Nested nodes are consumed as a whole.
                taken += self._node(kind, stream)
        raise self.error("a node has no end")

    def _node(self, opening: Any, stream: Tokens) -> Iterator[Any]:
        """The tokens of a node up to its closing one."""
        closing, depth = CLOSING.get(opening.__name__), 1
        while closing and depth:
            token = next(stream, None)
            if token is None:
                raise self.error("a node has no end")
            yield token
            name = type(token).__name__
            depth += (type(token) is opening) - (name in closing)

    def _link(self, _: Any, stream: Tokens, found: list[str]) -> None:
        kinds = self.kinds
        title, token = self._raw(stream, (kinds.WikilinkSeparator, kinds.WikilinkClose))
        bare = type(token) is kinds.WikilinkClose
        shown = not _FILE_LINK.match(title) and not (bare and _LANGUAGE_LINK.match(title))
        if bare:
            found.append(title.removeprefix(":") if shown else "")
        else:
            self._walk(stream, found if shown else [], (kinds.WikilinkClose,))

    def _external_link(self, _: Any, stream: Tokens, found: list[str]) -> None:
        kinds = self.kinds
        token = self._walk(stream, [], (kinds.ExternalLinkSeparator, kinds.ExternalLinkClose))
        if type(token) is kinds.ExternalLinkSeparator:
            self._walk(stream, found, (kinds.ExternalLinkClose,))

    def _template(self, _: Any, stream: Tokens, found: list[str]) -> None:
        kinds = self.kinds
        name, token = self._raw(stream, (kinds.TemplateParamSeparator, kinds.TemplateClose))
        shown = SHOWN_TEMPLATES.get(name.strip().lower())
        arguments: list[str] = []
        while type(token) is kinds.TemplateParamSeparator:
            if shown is None:
                for _ in self._node(kinds.TemplateOpen, stream):
                    pass
                return
            value: list[str] = []
            ends = (kinds.TemplateParamSeparator, kinds.TemplateClose)
            token = self._walk(stream, value, (*ends, kinds.TemplateParamEquals))
            if type(token) is kinds.TemplateParamEquals:
                token = self._walk(stream, [], ends)
            else:
                arguments.append("".join(value))
        if shown is not None:
            found.append(" ".join(arguments[shown]))

    def _tag(self, opening: Any, stream: Tokens, found: list[str]) -> None:
        kinds = self.kinds
        parts = (kinds.TagAttrStart, kinds.TagCloseOpen, kinds.TagCloseSelfclose)
        written: list[str] = []
        token = self._walk(stream, written, parts)
        while type(token) is kinds.TagAttrStart:
            token = self._walk(stream, [], parts)
        name = "".join(written).strip().lower()
        if name in LIST_TAGS:
            found.append(LIST_MARK)
        elif name in LINE_TAGS and not opening.wiki_markup:
            found.append("\n")
        if type(token) is kinds.TagCloseOpen:
            self._walk(stream, [] if name in DROPPED_TAGS else found, (kinds.TagOpenClose,))
            self._walk(stream, [], (kinds.TagCloseClose,))

    def _entity(self, opening: Any, stream: Tokens, found: list[str]) -> None:
        taken = [opening, *self._node(type(opening), stream)]
        (entity,) = self.parser._builder.build(taken).nodes
        found.append(entity.normalize() or "")

    def _heading(self, opening: Any, stream: Tokens, found: list[str]) -> None:
        self._walk(stream, [], (self.kinds.HeadingEnd,))
        found.append("\n")

    def _dropped(self, closing: Any) -> Callable[[Any, Tokens, list[str]], None]:
        def drop(_: Any, stream: Tokens, __: list[str]) -> None:
            self._walk(stream, [], (closing,))

        return drop


def tidy(line: str) -> str:
    """The line without the remains of dropped markup: style marks, empty brackets, repeated spaces."""
    # Single spaces first: patterns for any number of spaces would take quadratic time.
    line = " ".join(_STYLE_MARKS.sub("", line).split())
    line = " ".join(_EMPTY_BRACKETS.sub("", line).split())
    line = _OPENING_BRACKET.sub("(", line)
    return " ".join(_SPACE_BEFORE_MARK.sub("", line).split())


def reads_like_prose(line: str) -> bool:
    """Whether a line has enough words and the end of a sentence, and no remains of a list or markup."""
    return (
        LIST_MARK not in line
        and len(line.split()) >= MIN_PROSE_WORDS
        and _SENTENCE_END.search(line) is not None
        and _MARKUP.search(line) is None
    )
