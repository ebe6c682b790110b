"""Mutations of seed files: of bytes, of numbers in them, of JSON trees, of safetensors headers, of pickle programs."""

from __future__ import annotations

import hashlib
import json
import pickle
import random
import re
from typing import Any

INTERESTING = (
    0,
    1,
    2,
    7,
    8,
    9,
    10,
    13,
    26,
    27,
    32,
    34,
    35,
    44,
    45,
    46,
    48,
    57,
    91,
    92,
    93,
    123,
    125,
    127,
    128,
    254,
    255,
)
NUMBERS = (0, 1, 2, 127, 128, 255, 256, 65535, 1 << 31, (1 << 31) - 1, 1 << 32, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 10**30, 1 << 62, 1e300, float("nan"), float("inf"), "", "x", "\ud800", "\x1b]0;x\x07",
    "~nosuchuser/x", "../../etc/passwd", [], {}, [[]], [1] * 70, {"a": {"a": {"a": 1}}}, "a" * 5000,
)  # fmt: skip
DIGITS = re.compile(rb"[0-9]+")
HEADER_BYTES = 8
STORED_SUM = re.compile(rb'"sha256":"([0-9a-f]{64})"')
SUMS = ("checksum", "sha256")
SEALED = 0.4
"""How often a file gets the right checksum of its new content: so what is behind the check is reached too."""
OPCODES = [
    getattr(pickle, name)[0] for name in dir(pickle) if name.isupper() and isinstance(getattr(pickle, name), bytes)
]


def mutate(data: bytes, name: str, chance: random.Random) -> bytes:
    """Another content for a file of that name, mostly near the old one."""
    kinds = [_bytes, _bytes, _bytes, _numbers]
    if name.endswith((".json", ".jsonl", ".cfg")) or data.startswith(b"{"):
        kinds += [_json, _json]
    if name.endswith(".safetensors") or name in ("checkpoint", "learnt", "words", "part"):
        kinds += [_header, _header]
    if name.endswith(".kv"):
        kinds += [_pickle, _pickle]
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        data = chance.choice(kinds)(data, chance)
    return (sealed(data) if chance.random() < SEALED else None) or data


def sealed(data: bytes) -> bytes | None:
    """The file with the right checksum of itself, None if it carries none; as whoever forges a file would do it."""
    if b"sha256" not in data and b"checksum" not in data:
        return None
    end = HEADER_BYTES + int.from_bytes(data[:HEADER_BYTES], "little")
    if stored := STORED_SUM.search(data, HEADER_BYTES, end) if end <= len(data) else None:
        blank = data[: stored.start(1)] + b"0" * 64 + data[stored.end(1) :]
        return blank.replace(b"0" * 64, hashlib.sha256(blank).hexdigest().encode(), 1)
    record = _parsed(data)
    name = next((name for name in SUMS if isinstance(record, dict) and isinstance(record.get(name), str)), None)
    if name is None or not re.fullmatch("[0-9a-f]{64}", old := record.pop(name)):
        return None
    new = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    return data.replace(old.encode(), new.encode(), 1)


def _bytes(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    at, size = chance.randrange(len(changed) + 1), chance.choice((1, 1, 2, 4, 8, 64, 1000))
    kind = chance.randrange(8)
    if kind <= 2 and changed:
        changed[at % len(changed)] ^= 1 << chance.randrange(8)
    elif kind == 3 and changed:
        changed[at % len(changed)] = chance.choice(INTERESTING)
    elif kind == 4:
        del changed[at : at + size]
    elif kind == 5:
        changed[at:at] = changed[at : at + size] * chance.choice((1, 2, 100))
    elif kind == 6:
        changed[at:at] = chance.choice(
            (bytes(size), b"\xff" * size, b"[" * size, b" " * size, b"9" * size, b"\n" * size)
        )
    else:
        width = chance.choice((1, 2, 4, 8))
        number = chance.choice(NUMBERS) % (1 << 8 * width)
        changed[at : at + width] = number.to_bytes(width, chance.choice(("little", "big")))
    return bytes(changed[: 1 << 20])


def _numbers(data: bytes, chance: random.Random) -> bytes:
    """Change a number that stands in the data as text."""
    found = list(DIGITS.finditer(data[: 1 << 16]))
    if not found:
        return _bytes(data, chance)
    match = chance.choice(found)
    value = chance.choice((*NUMBERS, -1, int(match[0][:18]) + 1, int(match[0][:18]) * 10, 10**30))
    return data[: match.start()] + str(value).encode() + data[match.end() :]


def _json(data: bytes, chance: random.Random) -> bytes:
    """Change a place in a tree; of lines of JSON, in one line."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines)) if _parsed(data) is None else None
    tree = _parsed(data) if at is None else _parsed(lines[at])
    if tree is None:
        return _bytes(data, chance)
    changed = json.dumps(_changed_tree(tree, chance)).encode()
    return changed if at is None else b"\n".join([*lines[:at], changed, *lines[at + 1 :]])


def _changed_tree(tree: Any, chance: random.Random) -> Any:
    if isinstance(tree, dict) and tree and chance.random() < 0.85:
        key = chance.choice(list(tree))
        if chance.random() < 0.1:
            return {name: value for name, value in tree.items() if name != key}
        return {**tree, key: _changed_tree(tree[key], chance)}
    if isinstance(tree, list) and tree and chance.random() < 0.85:
        at = chance.randrange(len(tree))
        return [*tree[:at], _changed_tree(tree[at], chance), *tree[at + 1 :]]
    return chance.choice(VALUES)


def _header(data: bytes, chance: random.Random) -> bytes:
    """Change the header of safetensors, with the right length before it."""
    length = int.from_bytes(data[:HEADER_BYTES], "little")
    tree = _parsed(data[HEADER_BYTES : HEADER_BYTES + length]) if length < len(data) else None
    if tree is None:
        return _bytes(data, chance)
    text = json.dumps(_changed_tree(tree, chance)).encode()
    return len(text).to_bytes(HEADER_BYTES, "little") + text + data[HEADER_BYTES + length :]


def _pickle(data: bytes, chance: random.Random) -> bytes:
    """Put instructions into a program."""
    at = chance.randrange(len(data) + 1)
    program = bytes(chance.choice((*OPCODES, *range(4))) for _ in range(chance.choice((1, 2, 5, 40))))
    return data[:at] + program + data[at + chance.choice((0, 0, len(program))) :]


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
