"""Which content a set must have to be scored by a task: where a set does not fit, it is refused here."""

from __future__ import annotations

from collections.abc import Mapping

from wordstill.errors import UsageError
from wordstill.evaluate.extrinsic.examples import Published
from wordstill.evaluate.pairs import WordPairs
from wordstill.evaluate.readers.categories import Categories
from wordstill.evaluate.readers.context import ContextParts
from wordstill.evaluate.readers.questions import Questions
from wordstill.evaluate.readers.relations import Relations
from wordstill.evaluate.readers.sentences import SentencePairs

NEEDS: Mapping[str, tuple[str, ...]] = {
    "similarity": ("scored pairs of words",),
    "analogy": ("questions",),
    "relation": ("relations",),
    "categorisation": ("words with classes",),
    "sts": ("scored pairs of sentences",),
    "classification": ("labels",),
    "probe": ("labels",),
    "tagging": ("tags",),
    "parent": ("labels", "tags"),
}
"""What a set must have, by the kind of task; any one of several."""

_HAS: Mapping[type, str] = {
    WordPairs: "scored pairs of words",
    Questions: "questions",
    Relations: "relations",
    Categories: "words with classes",
    SentencePairs: "scored pairs of sentences",
    ContextParts: "words in context",
}
"""What the readers give; sets with labels and sets with tags have one type."""
_OTHER = "data for other uses"


def check_content(name: str, content: object, kind: str) -> None:
    """Make sure that a set fits a task.

    Args:
        name: What the set is called.
        content: What its reader gave.
        kind: The name of the task.

    Raises:
        UsageError: It does not; the message says what the set has and which tasks score that.
    """
    has = _has(content)
    if has in NEEDS[kind]:
        return
    fitting = [repr(task) for task, needs in NEEDS.items() if has in needs]
    remedy = f"Score it by {' or '.join(fitting)}." if fitting else "No task of evaluate scores that."
    raise UsageError(
        f"The data set {name!r} has no {' or '.join(NEEDS[kind])}, which the task {kind!r} needs; it has "
        f"{has}. {remedy}"
    )


def _has(content: object) -> str:
    if isinstance(content, Published):
        return "labels" if isinstance(content.train.targets[0], str) else "tags"
    return next((has for made, has in _HAS.items() if isinstance(content, made)), _OTHER)
