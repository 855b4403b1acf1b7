"""Finds a text in any bytes, however it is written: as it is, escaped, encoded, packed, or token by token.

Knows nothing of the product.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from base64 import b64decode, b64encode, urlsafe_b64encode
from binascii import Error
from collections import defaultdict
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import chain

import zstandard

_WINDOW = 8
"""Characters that must stand together. A text without sense has no eight of its characters elsewhere by chance."""
_STEP = 4
"""From one window to the next. So 11 characters of the text hold a window."""
_NUM_IDS = 3
"""Token ids that must stand together."""
_BETWEEN = b"\xff\xfe\xff"
"""In no text and in no form of it."""
_MEMBER = re.compile(rb'"(\w+)"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+|\[[^\[\]{}]*\])')
_ENCODED = re.compile(rb"[A-Za-z0-9+/_-]{120,}={0,2}")
_ZSTD, _GZIP, _ZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", b"PK\x03\x04"
_MOST = 1 << 26
_DEPTH = 3


def forms_of(text: str) -> dict[bytes, str]:
    """The ways in which a part of the text may be written, with their names."""
    starts = range(0, max(1, len(text) - _WINDOW + 1), _STEP)
    windows = [text[start : start + _WINDOW] for start in starts]
    return {form: name for window in windows for name, form in _forms(window)}


def _forms(part: str) -> Iterator[tuple[str, bytes]]:
    data = part.encode()
    yield "plain", data
    yield "UTF-16", part.encode("utf-16-le")
    yield "UTF-16, big end first", part.encode("utf-16-be")
    yield "escaped", "".join(f"\\u{ord(each):04x}" for each in part).encode()
    yield "escaped", "".join(f"\\u{ord(each):04X}" for each in part).encode()
    yield "percent", "".join(f"%{byte:02X}" for byte in data).encode()
    yield "percent", "".join(f"%{byte:02x}" for byte in data).encode()
    yield "hex", data.hex().encode()
    yield "hex", data.hex().upper().encode()
    for encode in (b64encode, urlsafe_b64encode):
        for num_before in range(3):
            whole = encode(bytes(num_before) + data)
            # The first and the last characters depend on the neighbours.
            yield "base64", whole[-(-num_before * 8 // 6) : (num_before + len(data)) * 8 // 6]


class Wanted:
    """A text that is searched for. ids: its tokens, in order."""

    def __init__(self, text: str, ids: Sequence[int] = ()) -> None:
        self.forms, self.runs = forms_of(text), _runs(ids)


def found_in(data: bytes, *wanted: Wanted) -> list[list[str]]:
    """Return for each text the ways in which the data hold a part of it. The data are taken apart once for all."""
    found: list[set[str]] = [set() for _ in wanted]
    for part in _parts(data):
        members = _members(part)
        joined = _BETWEEN.join(_joined_texts(members))
        for ways, each in zip(found, wanted, strict=True):
            ways.update(name for form, name in each.forms.items() if form in part)
            ways.update(f"{name}, piece by piece" for form, name in each.forms.items() if form in joined)
            ways.update(_ids_in(part, members, each.runs))
    return [sorted(ways) for ways in found]


def _parts(data: bytes, depth: int = _DEPTH) -> Iterator[bytes]:
    """The data, and in turn what is packed or encoded in it."""
    yield data
    if depth:
        for packed in chain(_unpacked(data), _decoded(data)):
            yield from _parts(packed, depth - 1)


def _unpacked(data: bytes) -> Iterator[bytes]:
    for start in _starts(data, _ZSTD):
        try:
            yield zstandard.ZstdDecompressor().decompressobj().decompress(data[start:])
        except zstandard.ZstdError:
            continue
    for start in _starts(data, _GZIP):
        try:
            yield zlib.decompressobj(31).decompress(data[start:], _MOST)
        except zlib.error:
            continue
    if data.startswith(_ZIP):
        with zipfile.ZipFile(BytesIO(data)) as archive:
            yield from (archive.read(name) for name in archive.namelist())


def _starts(data: bytes, mark: bytes) -> Iterator[int]:
    start = data.find(mark)
    while start >= 0:
        yield start
        start = data.find(mark, start + 1)


def _decoded(data: bytes) -> Iterator[bytes]:
    """Long texts in base64 that hold something packed."""
    for found in _ENCODED.finditer(data):
        decoded = _from_base64(found.group())
        if any(mark in decoded for mark in (_ZSTD, _GZIP, _ZIP)):
            yield decoded


def _from_base64(text: bytes) -> bytes:
    plain = text.translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    try:
        return b64decode(plain + b"=" * (-len(plain) % 4))
    except Error:
        return b""


def _joined_texts(members: dict[bytes, list[object]]) -> Iterator[bytes]:
    """The texts of each JSON member of one name, one after another, and those texts from base64."""
    for values in members.values():
        texts = [each.encode(errors="surrogatepass") for each in values if isinstance(each, str)]
        yield b"".join(texts)
        yield b"".join(map(_from_base64, texts))


def _members(data: bytes) -> dict[bytes, list[object]]:
    """The values of JSON's members by name, in any text that holds JSON. Of a list, its items."""
    found = defaultdict[bytes, list[object]](list)
    for match in _MEMBER.finditer(data):
        try:
            value = _value(match.group(2))
        except ValueError:
            continue
        if isinstance(value, list):
            found[match.group(1) + b"[0]"] += value[:1]
            found[match.group(1) + b"[]"] += value
        else:
            found[match.group(1)].append(value)
    return found


def _value(written: bytes) -> object:
    """Of JSON. Most are texts without an escape, which need no parser."""
    is_plain = written.startswith(b'"') and b"\\" not in written
    value: object = written[1:-1].decode() if is_plain else json.loads(written)
    return value


def _runs(ids: Sequence[int]) -> set[tuple[int, ...]]:
    return {tuple(ids[start : start + _NUM_IDS]) for start in range(len(ids) - _NUM_IDS + 1)}


def _ids_in(data: bytes, members: dict[bytes, list[object]], runs: set[tuple[int, ...]]) -> Iterator[str]:
    if not runs:
        return
    packed = (struct.pack(f"<{_NUM_IDS}{kind}", *run) for run in runs for kind in "iq")
    if any(form in data for form in packed):
        yield "token ids, packed"
    for values in members.values():
        numbers = [each if isinstance(each, int) else None for each in values]
        if runs.intersection(zip(*(numbers[start:] for start in range(_NUM_IDS)), strict=False)):
            yield "token ids"
