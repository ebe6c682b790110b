"""MurmurHash3 in its variant for 64-bit machines with 128 bits, by Austin Appleby (public domain)."""

from __future__ import annotations

MASK = (1 << 64) - 1
FIRST, SECOND = 0x87C37B91114253D5, 0x4CF5AD432745937F
BLOCK = 16


def murmur3_128(data: bytes, seed: int) -> tuple[int, int]:
    """The two halves of the hash of some bytes."""
    low = high = seed
    whole = len(data) // BLOCK * BLOCK
    for start in range(0, whole, BLOCK):
        low ^= _stir(int.from_bytes(data[start : start + 8], "little"), FIRST, 31, SECOND)
        low = (_turn(low, 27) + high) * 5 + 0x52DCE729 & MASK
        high ^= _stir(int.from_bytes(data[start + 8 : start + BLOCK], "little"), SECOND, 33, FIRST)
        high = (_turn(high, 31) + low) * 5 + 0x38495AB5 & MASK
    tail = data[whole:]
    high ^= _stir(int.from_bytes(tail[8:], "little"), SECOND, 33, FIRST)
    low ^= _stir(int.from_bytes(tail[:8], "little"), FIRST, 31, SECOND)
    low, high = low ^ len(data), high ^ len(data)
    low = low + high & MASK
    high = high + low & MASK
    low, high = _finish(low), _finish(high)
    low = low + high & MASK
    return low, high + low & MASK


def _turn(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & MASK


def _stir(value: int, before: int, bits: int, after: int) -> int:
    return _turn(value * before & MASK, bits) * after & MASK


def _finish(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return value ^ value >> 33
