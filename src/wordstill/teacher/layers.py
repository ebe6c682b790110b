"""Which hidden layers of a teacher are wanted: 0 is the embedding, n the output of the n-th block."""

from __future__ import annotations

from wordstill.errors import UsageError


def resolve_layers(wanted: str | int, depth: int) -> tuple[int, ...]:
    """Turn ``last``, ``all``, ``top-half``, a number or a list such as ``0-3,-1`` into layer numbers.

    Args:
        wanted: The request; negative numbers count from the last layer.
        depth: Number of blocks of the teacher.

    >>> resolve_layers("top-half", 6), resolve_layers("0-2,-1", 6)
    ((4, 5, 6), (0, 1, 2, 6))
    """
    named = {
        "last": (depth,),
        "all": tuple(range(depth + 1)),
        "top-half": tuple(range(depth // 2 + 1, depth + 1)),
    }
    text = str(wanted).strip()
    if text in named:
        return named[text]
    layers: set[int] = set()
    for part in text.split(","):
        layers.update(_part(part.strip(), depth, text))
    return tuple(sorted(layers))


def _part(part: str, depth: int, whole: str) -> range:
    low, dash, high = part.partition("-") if not part.startswith("-") else (part, "", "")
    try:
        first = int(low)
        last = int(high) if dash else first
    except ValueError:
        raise UsageError(
            f"layers {whole!r}: cannot read {part!r}. "
            "Expected last, all, top-half, a number or a list such as 0-3,-1."
        ) from None
    first, last = (number + depth + 1 if number < 0 else number for number in (first, last))
    if first > last:
        raise UsageError(f"layers {whole!r}: {part!r} runs backwards. Write {last}-{first}.")
    if first < 0 or last > depth:
        raise UsageError(f"layers {whole!r}: {part!r} is outside 0 to {depth}, the layers this teacher has.")
    return range(first, last + 1)
