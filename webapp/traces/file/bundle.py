"""Many traces in one file. Pure: JSON traces in, pieces of a zip file out, and back.

Form: a zip file of `<request_id>.json`, each a trace as jsonfile.py makes it, and last `manifest.json`: {"format",
"version", "is_redacted", "traces": [{"file", "request_id", "sha256", "num_bytes", "is_pinned", "note", "tags"}],
"problems": [{"request_id", "message"}]}. It is written as it is sent, so that only one trace is in memory. A file is
untrusted, so reading it is bounded and everything is validated.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Annotated

import msgspec

from webapp.traces.file.archive import MAX_BYTES, Archive, TraceFileError
from webapp.traces.file.jsonfile import decode_json

FORMAT = "sightglass-archive"
VERSION = 1
MAGIC = b"PK"
MAX_TRACES = 1000
_MAX_UNPACKED_BYTES = 512 << 20
_MAX_MANIFEST_BYTES = 16 << 20
_MANIFEST = "manifest.json"
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_WRONG = (zipfile.BadZipFile, struct.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)
"""Exceptions that zipfile may raise for an untrusted file; ValueError: names that are not UTF-8, odd offsets."""


class Bundled(msgspec.Struct, forbid_unknown_fields=True):
    """One trace of a bundle, with its owner's marks."""

    file: str
    request_id: str
    sha256: str
    num_bytes: int
    is_pinned: bool = False
    note: str = ""
    tags: list[str] = []


class Problem(msgspec.Struct, forbid_unknown_fields=True):
    """The reason why a selected trace is not in the bundle."""

    request_id: str
    message: str


class Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """The content of a bundle."""

    format: str
    version: int
    is_redacted: bool
    traces: Annotated[list[Bundled], msgspec.Meta(max_length=MAX_TRACES)]
    problems: list[Problem]


class BundleWriter:
    """Writes the zip file and returns its bytes piece by piece."""

    def __init__(self, is_redacted: bool) -> None:
        self._sink = _Sink()
        self._zip = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_DEFLATED)  # type: ignore[call-overload]
        self._manifest = Manifest(format=FORMAT, version=VERSION, is_redacted=is_redacted, traces=[], problems=[])

    def add(self, request_id: str, trace: bytes, marks: dict[str, object]) -> bytes:
        """Add a JSON trace and return the new bytes. marks: is_pinned, note and tags."""
        file, digest = f"{request_id}.json", hashlib.sha256(trace).hexdigest()
        known = {"file": file, "request_id": request_id, "sha256": digest, "num_bytes": len(trace)}
        self._manifest.traces.append(msgspec.convert(known | marks, Bundled))
        self._zip.writestr(file, trace)
        return self._sink.take()

    def leave_out(self, request_id: str, message: str) -> None:
        self._manifest.problems.append(Problem(request_id=request_id, message=message))

    def end(self) -> bytes:
        self._zip.writestr(_MANIFEST, msgspec.json.format(msgspec.json.encode(self._manifest), indent=1))
        self._zip.close()
        return self._sink.take()


class _Sink:
    """A write-only file for zipfile, which cannot seek in it."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


def read_bundle(data: bytes) -> Iterator[tuple[Bundled, Archive]]:
    """Yield the traces one after the other. Raises TraceFileError, at the first that is wrong."""
    try:
        file = zipfile.ZipFile(io.BytesIO(data))
        manifest = _read_manifest(file)
        num_left = _MAX_UNPACKED_BYTES
        for bundled in manifest.traces:
            trace = _read(file, bundled.file, min(MAX_BYTES, num_left))
            num_left -= len(trace)
            if hashlib.sha256(trace).hexdigest() != bundled.sha256:
                raise TraceFileError(f"{bundled.file} is damaged or was changed (its checksum does not match).")
            yield bundled, _decode(bundled.file, trace)
    except _WRONG as error:
        raise TraceFileError(f"The archive is truncated or damaged: {error}") from error


def _read_manifest(file: zipfile.ZipFile) -> Manifest:
    try:
        manifest = msgspec.json.decode(_read(file, _MANIFEST, _MAX_MANIFEST_BYTES), type=Manifest)
    except (ValueError, RecursionError) as error:
        raise TraceFileError(f"The archive's {_MANIFEST} cannot be read: {error}") from error
    if manifest.format != FORMAT or manifest.version != VERSION:
        raise TraceFileError(f'This is not a Sightglass archive of version {VERSION} (see "format" in {_MANIFEST}).')
    if len({bundled.file for bundled in manifest.traces}) < len(manifest.traces):
        raise TraceFileError(f"The archive's {_MANIFEST} names a file more than once.")
    return manifest


def _read(file: zipfile.ZipFile, name: str, max_bytes: int) -> bytes:
    try:
        if file.getinfo(name).compress_type not in _PACKINGS:
            raise TraceFileError(f"{name} uses a compression that Sightglass cannot read: store or deflate it.")
        with file.open(name) as member:
            data = member.read(max_bytes + 1)
    except KeyError:
        raise TraceFileError(f"The archive has no {name}; Sightglass imports only its own zip files.") from None
    except zlib.error as error:
        raise TraceFileError(f"{name} is damaged: {error}") from error
    if len(data) > max_bytes:
        raise TraceFileError(f"{name} unpacks to more than the limit for an archive.")
    return data


def _decode(name: str, trace: bytes) -> Archive:
    try:
        return decode_json(trace)
    except TraceFileError as error:
        raise TraceFileError(f"{name}: {error}") from error
