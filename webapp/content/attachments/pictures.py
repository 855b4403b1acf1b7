"""The pictures that a model with vision may get: their kind, size and end, by their headers alone. Pure.

No pixel is decoded here: a decoder of foreign data is no part of the site's process. The data after a picture's end are
cut off, so that nothing else travels in its file. Of a GIF the first frame stays.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from inference.protocol.events import Image
from webapp.content.attachments.extraction.kinds import is_promise
from webapp.content.attachments.extraction.unreadable import Unreadable

MAX_PICTURE_BYTES = 5 << 20
"""As the public APIs have it."""
MAX_SIDE = 8192
MAX_PIXELS = 40_000_000
"""A decoded pixel takes the server 3 to 12 bytes."""
_MAX_PARTS = 10_000
"""Chunks, segments or extensions of one picture, which are walked one by one."""
_MAX_BLOCKS = 50_000
"""Blocks of a GIF's data. With 255 bytes each, half as many fill the largest picture."""
MAX_IN_PROMPT = 20
MAX_PROMPT_BYTES = 20 << 20
"""Of all pictures of one prompt."""
TOO_MANY = (
    f"A prompt has {MAX_IN_PROMPT} pictures with {MAX_PROMPT_BYTES >> 20} MiB in all at most, "
    "those of earlier messages included. Leave some out."
)
_ENDINGS = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
_SVG = "SVG is refused: it may hold programs. Attach it as PNG."
_NO_JPEG = "The picture is no valid JPEG."
_TRUNCATED = "The picture is cut short. Save it again, or send it again."
_PNG = b"\x89PNG\r\n\x1a\n"
_SIZED = (*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0))
"""JPEG's markers of a frame, which has the size."""
_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd7\xff]")
"""Within a scan FF 00 is a byte of it, and FF D0 to D7 divide it. These and FF 01 have no length."""


@dataclass(frozen=True)
class Picture:
    """A picture as a model's server gets it."""

    image: Image
    data: bytes


@dataclass(frozen=True)
class _Found:
    """What a reader of one format finds."""

    width: int
    height: int
    data: bytes


class _Cut(Exception):
    """The data end before the picture does."""


def media_type_of(data: bytes) -> str | None:
    """The picture's media type by its first bytes; None: it is none of the four kinds."""
    if data.startswith(_PNG):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def is_picture(name: str, data: bytes) -> bool:
    """True of a file that is a picture by its content, or promises one that it is not."""
    ending = PurePath(name).suffix.lower()
    is_text = b"\x00" not in data[:4096] and data[:4096].isascii()
    return ending in _ENDINGS or ending == ".svg" or (media_type_of(data) is not None and not is_text)


def picture_of(name: str, data: bytes) -> Picture:
    """Return the picture, whose name promises no other kind. Raises Unreadable."""
    ending = PurePath(name).suffix.lower()
    if ending == ".svg":
        raise Unreadable(_SVG)
    kind = media_type_of(data)
    if is_promise(ending) and _ENDINGS.get(ending) != kind and kind is not None:
        raise Unreadable(f"The file's name ends in {ending}, but its content is {kind}.")
    return read_picture(data)


def read_picture(data: bytes) -> Picture:
    """Return the picture within its limits. Raises Unreadable."""
    kind = media_type_of(data)
    if kind is None:
        if b"<svg" in data[:4096].lower():
            raise Unreadable(_SVG)
        raise Unreadable("The picture is no PNG, JPEG, WebP or GIF. Save it as one of these.")
    if len(data) > MAX_PICTURE_BYTES:
        raise Unreadable(f"The picture has more than {MAX_PICTURE_BYTES >> 20} MiB, the limit. Make it smaller.")
    try:
        found = _READERS[kind](data)
    except (_Cut, IndexError, struct.error):
        raise Unreadable(_TRUNCATED) from None
    _check_size(found.width, found.height)
    image = Image(
        sha256=hashlib.sha256(found.data).hexdigest(),
        media_type=kind,
        num_bytes=len(found.data),
        width=found.width,
        height=found.height,
    )
    return Picture(image, found.data)


def _check_size(width: int, height: int) -> None:
    if not width or not height:
        raise Unreadable("The picture has no pixels.")
    if max(width, height) > MAX_SIDE or width * height > MAX_PIXELS:
        raise Unreadable(
            f"The picture has {width:,} by {height:,} pixels. A side has {MAX_SIDE:,} at most, "
            f"and a picture {MAX_PIXELS:,} in all. Make it smaller."
        )


def _parts(limit: int = _MAX_PARTS) -> Iterator[int]:
    """Count the parts of a picture. Raises Unreadable after the last that it may have."""
    yield from range(limit)
    raise Unreadable(f"The picture has more than {limit:,} parts. Save it again.")


def _png(data: bytes) -> _Found:
    """Walk the chunks: the first has the size, and IEND is the end."""
    if data[12:16] != b"IHDR":
        raise Unreadable("The picture is no valid PNG.")
    width, height = struct.unpack_from(">II", data, 16)
    place, has_pixels = len(_PNG), False
    for _ in _parts():
        (length,) = struct.unpack_from(">I", data, place)
        kind = data[place + 4 : place + 8]
        place += 12 + length
        if place > len(data):
            raise _Cut
        has_pixels = has_pixels or kind == b"IDAT"
        if kind == b"IEND":
            break
    if not has_pixels:
        raise _Cut
    return _Found(width, height, data[:place])


def _jpeg(data: bytes) -> _Found:
    """Walk the segments and the scans between them, up to the end marker."""
    place = 2
    size: tuple[int, int] | None = None
    for _ in _parts():
        place = _next_marker(data, place)
        marker = data[place + 1]
        place += 2
        if marker == 0xD9:
            break
        (length,) = struct.unpack_from(">H", data, place)
        if marker in _SIZED:
            if size is not None:  # readers differ in the one that they take
                raise Unreadable(_NO_JPEG)
            height, width = struct.unpack_from(">HH", data, place + 3)
            size = (width, height)
        place += max(2, length)
    if size is None:
        raise Unreadable(_NO_JPEG)
    return _Found(*size, data[:place])


def _next_marker(data: bytes, place: int) -> int:
    found = _MARKER.search(data, place)
    if found is None:
        raise _Cut
    return found.start()


def _gif(data: bytes) -> _Found:
    """Walk the blocks up to the end of the first frame, and end the file there."""
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    place = 13 + _table(flags)
    for _ in _parts():
        if data[place] != 0x21:  # no further extension
            break
        place = _after_blocks(data, place + 2)
    if data[place] != 0x2C:
        raise _Cut
    left, top, frame_width, frame_height, flags = struct.unpack_from("<HHHHB", data, place + 1)
    end = _after_blocks(data, place + 10 + _table(flags) + 1)
    return _Found(max(width, left + frame_width), max(height, top + frame_height), data[:end] + b"\x3b")


def _table(flags: int) -> int:
    """The bytes of a table of colours."""
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(data: bytes, place: int) -> int:
    for _ in _parts(_MAX_BLOCKS):
        size = data[place]
        place += 1 + size
        if not size:
            break
    return place


def _webp(data: bytes) -> _Found:
    (length,) = struct.unpack_from("<I", data, 4)
    end = 8 + length
    if end > len(data):
        raise _Cut
    kind, place = data[12:16], 12
    for _ in _parts():
        if place + 8 > end:
            break
        (length,) = struct.unpack_from("<I", data, place + 4)
        place += 8 + length + length % 2
    if kind == b"VP8X":
        width, height = (1 + int.from_bytes(data[at : at + 3], "little") for at in (24, 27))
    elif kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        width, height = 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    elif kind == b"VP8 ":
        width, height = (each & 0x3FFF for each in struct.unpack_from("<HH", data, 26))
    else:
        raise Unreadable("The picture is no valid WebP.")
    return _Found(width, height, data[:end])


_READERS: dict[str, Callable[[bytes], _Found]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}
