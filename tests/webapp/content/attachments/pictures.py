"""Pictures for tests, made by Pillow."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image


def picture(kind: str, width: int = 64, height: int = 48, **options: object) -> bytes:
    """A picture of one of the four kinds: PNG, JPEG, WEBP, GIF."""
    found = io.BytesIO()
    frames = [Image.new("RGB", (width, height), colour) for colour in ("red", "blue")]
    frames[0].save(found, kind, **options)
    return found.getvalue()


def animated_gif() -> bytes:
    frames = [Image.new("P", (20, 10), colour) for colour in (1, 2)]
    found = io.BytesIO()
    frames[0].save(found, "GIF", save_all=True, append_images=frames[1:])
    return found.getvalue()


def claiming(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header claims so many pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(*each) for each in ((b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
