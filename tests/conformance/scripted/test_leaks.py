"""The search for a text finds it in every form in which a server could send it."""

from __future__ import annotations

import gzip
import json
import struct
import zipfile
from base64 import b64encode, urlsafe_b64encode
from io import BytesIO

import pytest
import zstandard

from tests.conformance.scripted.leaks import Wanted, found_in

TEXT = "Kz7Qw2Xv9Jb4Ym"
IDS = (7001, 3, 512, 40_000)
PIECES = ("Kz", "7Qw", "2Xv9", "Jb4Ym")


def zipped(data: bytes) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.json", data)
    return file.getvalue()


HELD = {
    "plain": f"of {TEXT}!".encode(),
    "cut off": f"of {TEXT[:11]}!".encode(),
    "UTF-16": TEXT.encode("utf-16-le"),
    "escaped": "".join(f"\\u{ord(each):04x}" for each in TEXT).encode(),
    "percent": "".join(f"%{ord(each):02X}" for each in TEXT).encode(),
    "hex": TEXT.encode().hex().encode(),
    "base64 0": b64encode(f"{TEXT} is it".encode()),
    "base64 1": b64encode(f"a{TEXT} is it".encode()),
    "base64 2": urlsafe_b64encode(f"ab{TEXT} is it".encode()),
    "gzip": b"before" + gzip.compress(TEXT.encode()),
    "zstd": b"before" + zstandard.compress(json.dumps({"text": TEXT}).encode()) + b"after",
    "zip": zipped(TEXT.encode()),
    "packed in base64": b'"' + b64encode(zstandard.compress(TEXT.encode() + bytes(range(256)))) + b'"',
    "deltas": b"\n".join(b'data: {"id":"a","delta":"%s"}\n' % each.encode() for each in PIECES),
    "pieces": json.dumps([{"piece": b64encode(each.encode()).decode()} for each in PIECES]).encode(),
    "candidates": json.dumps([{"candidate_pieces": [each, "no"]} for each in PIECES]).encode(),
    "ids": json.dumps([{"id": each, "position": at} for at, each in enumerate(IDS)]).encode(),
    "list of ids": json.dumps({"prompt_ids": [1, *IDS, 2]}).encode(),
    "packed ids": struct.pack("<4i", *IDS),
}


@pytest.mark.parametrize("name", HELD)
def test_a_text_is_found(name: str) -> None:
    assert found_in(HELD[name], Wanted(TEXT, IDS)) != [[]]


def test_another_text_is_not() -> None:
    other = b"".join(HELD.values())
    assert found_in(other, Wanted("Kz8Qw3Xv0Jb5Yn", (7001, 4, 512, 40_001))) == [[]]
