"""The saved trace as plain JSON for other programs, and back. Pure: frames in, bytes out, and back.

Form: `{"format", "version", "request_id", "sha256", "trace": {"summary", "frames"}}`. `sha256` is that of the bytes
of `trace` in the file, so that no canonical order or spelling is needed. A file is untrusted, so reading it is bounded
and everything is validated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from inference.protocol.codec import encode_frame
from inference.protocol.events import Frame, RequestAccepted
from inference.protocol.request import PROTOCOL_VERSION
from webapp.traces.file.archive import MAX_BYTES, MAX_SUMMARY_BYTES, Archive, TraceFileError
from webapp.traces.file.columns import MAX_EVENTS

FORMAT = "sightglass-trace"


class _Header(msgspec.Struct):
    """The fields of a file that are read before validation."""

    format: str = ""
    version: int | None = None


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    request_id: str
    """Id of the original request; an imported trace has another id in the library."""
    sha256: str
    trace: msgspec.Raw


class _Trace(msgspec.Struct, forbid_unknown_fields=True):
    summary: msgspec.Raw
    frames: list[Frame]


def encode_json(frames: Sequence[Frame], summary: dict[str, Any]) -> bytes:
    """The bytes of a JSON trace: one frame per line."""
    lines = b",\n".join(encode_frame(frame) for frame in frames)
    trace = b'{"summary":%s,"frames":[\n%s\n]}' % (msgspec.json.encode(summary), lines)
    document = _Document(
        format=FORMAT,
        version=PROTOCOL_VERSION,
        request_id=_request_id(frames),
        sha256=hashlib.sha256(trace).hexdigest(),
        trace=msgspec.Raw(trace),
    )
    return msgspec.json.encode(document)


def decode_json(data: bytes) -> Archive:
    """Inverse of encode_json. Raises TraceFileError."""
    if len(data) > MAX_BYTES:
        raise TraceFileError(f"The file is larger than {MAX_BYTES >> 20} MiB, the limit for a trace.")
    document = _document(data)
    if hashlib.sha256(bytes(document.trace)).hexdigest() != document.sha256:
        raise TraceFileError("The file is damaged or was changed (its checksum does not match).")
    try:
        trace = msgspec.json.decode(document.trace, type=_Trace)
        check_frames(trace.frames)
        if _request_id(trace.frames) != document.request_id:
            raise ValueError("request_id is not that of its first event")
        if len(bytes(trace.summary)) > MAX_SUMMARY_BYTES:
            raise ValueError("the summary is too large")
        return Archive(msgspec.json.decode(trace.summary, type=dict[str, Any]), trace.frames)
    except (ValueError, RecursionError) as error:
        raise TraceFileError(f"The trace's events are not valid: {error}") from error


def _document(data: bytes) -> _Document:
    try:
        header = msgspec.json.decode(data, type=_Header)
    except (ValueError, RecursionError) as error:
        raise TraceFileError(f"The file is truncated or damaged, or it is not a JSON trace: {error}") from error
    if header.format != FORMAT:
        raise TraceFileError(
            f'The JSON is not a Sightglass trace (its "format" is not "{FORMAT}"). '
            "You can import the trace file, JSON and HTML exports."
        )
    if header.version != PROTOCOL_VERSION:
        raise TraceFileError(f"The trace has version {header.version}; this server reads version {PROTOCOL_VERSION}.")
    try:
        return msgspec.json.decode(data, type=_Document)
    except ValueError as error:
        raise TraceFileError(f"The file is damaged: {error}") from error


def check_frames(frames: Sequence[Frame]) -> None:
    """Raises ValueError unless seqs count from 1 without a gap and no frame is empty."""
    if sum(len(frame.events) for frame in frames) > MAX_EVENTS:
        raise ValueError(f"there are more than {MAX_EVENTS} events")
    seq = 1
    for frame in frames:
        if frame.seq != seq or not frame.events:
            raise ValueError("the frames do not follow each other")
        seq = frame.last_seq + 1


def _request_id(frames: Sequence[Frame]) -> str:
    first = frames[0].events[0] if frames and frames[0].events else None
    return first.request_id if isinstance(first, RequestAccepted) else ""
