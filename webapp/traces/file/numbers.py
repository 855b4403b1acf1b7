"""Packs a column of numbers into few bytes, exactly. Knows nothing of meanings.

`frontend/src/trace/saved/numbers.ts` reads it.

Recorded numbers have few decimals, so most columns are integers at some scale. Their bytes are stored in planes: the
first bytes of all numbers, then the second. The high bytes are alike, and zstd compresses them to nearly nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

_SCALES = (1.0, 1e4, 1e6, 1e7, 2.0**53)
"""Scales for integers, for the decimals of logits, of other values, of probabilities, and for the draw."""
_MOST_CODE = 1 << 53
"""JavaScript's integers are exact up to here."""
SIGNED, DELTA, HAS_UNKNOWN, RELATIVE = 1, 2, 4, 8


class Numbers(msgspec.Struct, array_like=True, frozen=True):
    """One column."""

    scale: float
    """A value is its integer divided by this; 0: the data are doubles, NaN where unknown."""
    flags: int
    """Encoding of the integers. SIGNED: 2n stands for n, 2n - 1 for -n. DELTA: differences from the previous integer.
    HAS_UNKNOWN: plus one, 0 is unknown. RELATIVE: differences from another column's integers."""
    width: int
    """Bytes per number; 0: all are 0."""
    data: bytes


def pack(values: Sequence[Any], base: Sequence[Any] | None = None, *, is_delta: bool = False) -> Numbers:
    """Pack numbers, None where unknown. base: a similar column, used if every known number has a value there."""
    known = np.array([value for value in values if value is not None], "f8")
    found = _integers(known)
    if found is None:
        return _doubles(values)
    scale, integers = found
    flags = HAS_UNKNOWN if len(known) < len(values) else 0
    if base is not None and (minus := _base(values, base, scale)) is not None:
        flags, integers = flags | RELATIVE, integers - minus
    if is_delta:
        flags, integers = flags | DELTA, np.diff(integers, prepend=0)
    if len(integers) and integers.min() < 0:
        flags, integers = flags | SIGNED, np.where(integers < 0, -2 * integers - 1, 2 * integers)
    codes = integers
    if flags & HAS_UNKNOWN:
        codes = np.zeros(len(values), "i8")
        codes[[value is not None for value in values]] = integers + 1
    most = int(codes.max()) if len(codes) else 0
    return _doubles(values) if most >= _MOST_CODE else Numbers(scale, flags, *_planes(codes.astype("<u8"), most))


def _integers(known: NDArray[np.float64]) -> tuple[float, NDArray[np.int64]] | None:
    """The first scale at which all numbers are integers, and the integers; None: no scale fits, or one is -0.0."""
    if np.any((known == 0) & np.signbit(known)):
        return None
    for scale in _SCALES:
        if np.all(np.abs(known) * scale < _MOST_CODE):
            integers = np.rint(known * scale)
            if np.all(integers / scale == known):
                return scale, integers.astype("i8")
    return None


def _base(values: Sequence[Any], base: Sequence[Any], scale: float) -> NDArray[np.int64] | None:
    under = [under for value, under in zip(values, base, strict=True) if value is not None]
    if any(each is None for each in under) or np.any(np.abs(np.array(under, "f8")) * scale >= _MOST_CODE):
        return None
    return np.rint(np.array(under, "f8") * scale).astype("i8")


def _planes(codes: NDArray[np.uint64], most: int) -> tuple[int, bytes]:
    width = (most.bit_length() + 7) // 8
    return width, codes.view("u1").reshape(len(codes), 8)[:, :width].T.tobytes()


def _doubles(values: Sequence[Any]) -> Numbers:
    array = np.array([np.nan if value is None else value for value in values], "<f8")
    return Numbers(0, 0, 8, array.view("u1").reshape(len(values), 8).T.tobytes() if len(values) else b"")


def unpack(column: Numbers, count: int, base: Sequence[Any] | None = None) -> list[Any]:
    """Inverse of pack: integers where the scale is 1, else floats. Raises ValueError on an inconsistent column."""
    if not 0 <= column.width <= 8 or len(column.data) != count * column.width:
        raise ValueError("a column of another length")
    codes = np.zeros((count, 8), "u1")
    codes[:, : column.width] = np.frombuffer(column.data, "u1").reshape(column.width, count).T
    if column.scale == 0:
        doubles = codes.view("<f8").reshape(count)
        return [None if value != value else value for value in doubles.tolist()]
    if column.scale not in _SCALES:
        raise ValueError("a column of an unknown scale")
    integers = codes.view("<u8").reshape(count).astype("i8")
    is_known = np.ones(count, "?")
    if column.flags & HAS_UNKNOWN:
        is_known, integers = integers > 0, integers - 1
    found = _undone(column, integers[is_known], _known_base(column, is_known, base))
    values: list[Any] = (found if column.scale == 1 else found / column.scale).tolist()
    if len(values) == count:
        return values
    known = iter(values)
    return [next(known) if flag else None for flag in is_known.tolist()]


def _undone(column: Numbers, integers: NDArray[np.int64], minus: NDArray[np.int64] | None) -> NDArray[np.int64]:
    if column.flags & SIGNED:
        integers = np.where(integers & 1, -(integers + 1) // 2, integers // 2)
    if column.flags & DELTA:
        integers = np.cumsum(integers)
    return integers if minus is None else integers + minus


def _known_base(column: Numbers, is_known: NDArray[np.bool_], base: Sequence[Any] | None) -> NDArray[np.int64] | None:
    if not column.flags & RELATIVE:
        return None
    if base is None:
        raise ValueError("a column that is relative to none")
    under = [value for value, flag in zip(base, is_known.tolist(), strict=True) if flag]
    return np.rint(np.array(under, "f8") * column.scale).astype("i8")
