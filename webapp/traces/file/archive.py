"""The saved trace's file format, which replays anywhere. Pure: frames in, bytes out, and back.

Form: the magic `SGTRACE1`, the SHA-256 of what follows, a zstd frame of msgpack {version, summary, sizes, is_token,
events, columns}. A file is untrusted, so reading it is bounded and everything is validated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import zstandard

from inference.protocol.codec import decode_events, encode_events
from inference.protocol.events import AnyEvent, Frame, GenerationForked, SafetyChecked, TokenSampled, first
from inference.protocol.generations import last_number, of_generation
from inference.protocol.request import PROTOCOL_VERSION
from webapp.ground.gateway.refusal import Refusal
from webapp.traces.file.column_reader import from_columns, generated
from webapp.traces.file.column_writer import to_columns
from webapp.traces.file.columns import MAX_EVENTS, TokenColumns

MAGIC = b"SGTRACE1"
MAX_BYTES = 32 << 20
MAX_UNPACKED_BYTES = 32 << 20
"""8,192 tokens with 20 candidates each unpack to about 4 MiB. As Python objects they take up to ten times that."""
MAX_SUMMARY_BYTES = 64 << 10
_DIGEST_BYTES = 32
_LEVEL = 15
"""Level 15 gives files a sixth smaller than level 9; higher levels only take longer."""
_USUAL_REST_BYTES = 64 << 10
"""Estimated bytes after the tokens, by which zstd sizes its tables."""


_WRONG = (
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    StopIteration,
    OverflowError,
    RecursionError,
)
"""Exceptions that reading untrusted events may raise."""


class TraceFileError(Refusal):
    """The file is not a readable trace; the message gives the reason."""

    code = "trace_unreadable"

    @property
    def words(self) -> str:
        return f"The saved trace cannot be read: {self}"


@dataclass(frozen=True)
class Archive:
    """A trace file's content."""

    summary: dict[str, Any]
    frames: list[Frame]


class _Rest(msgspec.Struct, forbid_unknown_fields=True):
    """The document without the generated tokens."""

    version: int
    summary: msgspec.Raw
    sizes: Annotated[list[int], msgspec.Meta(max_length=MAX_EVENTS)]
    """Events per frame."""
    is_token: bytes
    """One byte per event, in order: 1 for token.sampled, which is in the columns."""
    events: bytes
    """JSON of all other events, in order."""


class _Document(_Rest, forbid_unknown_fields=True):
    columns: TokenColumns


class Packing:
    """Builds a trace file. The generated tokens, which are most of it, are packed before the rest is known."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        tokens = [event for event in _events(frames) if isinstance(event, TokenSampled)]
        self._num_tokens = len(tokens)
        columns = msgspec.msgpack.encode({"columns": to_columns(tokens)})
        parameters = zstandard.ZstdCompressionParameters.from_level(
            _LEVEL, source_size=len(columns) + _USUAL_REST_BYTES
        )
        self._compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        pairs = _map_head(1 + len(_Rest.__struct_fields__)) + columns[1:]
        self._body = self._compressor.compress(pairs) + self._compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    def has_tokens_of(self, frames: Sequence[Frame]) -> bool:
        """True if these frames, which continue the packed ones, have no further tokens."""
        return self._num_tokens == sum(isinstance(event, TokenSampled) for event in _events(frames))

    def finish(self, frames: Sequence[Frame], summary: dict[str, Any]) -> bytes:
        """Return the trace file; callable once. frames: the packed ones, and further ones without tokens."""
        events = _events(frames)
        rest = _Rest(
            version=PROTOCOL_VERSION,
            summary=msgspec.Raw(msgspec.msgpack.encode(summary)),
            sizes=[len(frame.events) for frame in frames],
            is_token=bytes(isinstance(event, TokenSampled) for event in events),
            events=encode_events([event for event in events if not isinstance(event, TokenSampled)]),
        )
        body = self._compressor.compress(msgspec.msgpack.encode(rest)[1:]) + self._compressor.flush()
        return _file(self._body + body)


def encode(frames: Sequence[Frame], summary: dict[str, Any]) -> bytes:
    """Return the bytes of a trace file."""
    return Packing(frames).finish(frames, summary)


def _map_head(num_pairs: int) -> bytes:
    """The head of a msgpack map of up to 15 pairs, which follow it (the specification's fixmap)."""
    return bytes([0x80 | num_pairs])


def _events(frames: Sequence[Frame]) -> list[AnyEvent]:
    return [event for frame in frames for event in frame.events]


def _file(body: bytes) -> bytes:
    return MAGIC + hashlib.sha256(body).digest() + body


def decode(data: bytes) -> Archive:
    """Read a trace file. Raises TraceFileError."""
    document = _document(unpacked(data))
    if document.version != PROTOCOL_VERSION:
        raise TraceFileError(f"The trace has version {document.version}; this server reads version {PROTOCOL_VERSION}.")
    try:
        return Archive(_summary(document.summary), _frames(document))
    except _WRONG as error:
        raise TraceFileError(f"The trace's events are not valid: {error}") from error


@dataclass(frozen=True)
class Turn:
    """The parts of a trace with which a later request is compared: its last generation, which ends with the answer."""

    events: tuple[AnyEvent, ...]
    """Events of the generation and of the whole request, without the generated tokens."""
    answer: list[tuple[int, bytes]]
    """Ids and bytes of the tokens that a fork took over, then of the generated ones."""


def decode_turn(data: bytes) -> Turn:
    """Read a trace file without its tokens' candidates, which are most of it. Raises TraceFileError."""
    document = _document(unpacked(data))
    try:
        others = decode_events(document.events)
        number = last_number(others)
        events = tuple(of_generation(others, number))
        return Turn(events, [*_kept(events), *generated(document.columns, number)])
    except _WRONG as error:
        raise TraceFileError(f"The trace's events are not valid: {error}") from error


def decode_checks(data: bytes) -> list[SafetyChecked]:
    """Read the safety checks of a trace file, without its other events. Raises TraceFileError."""
    document = _document(unpacked(data))
    try:
        events = msgspec.json.decode(document.events, type=list[msgspec.Raw])
        found = [bytes(event) for event in events if b'"safety.checked"' in bytes(event)]
        decoded = decode_events(b"[%s]" % b",".join(found))
    except _WRONG as error:
        raise TraceFileError(f"The trace's events are not valid: {error}") from error
    return [event for event in decoded if isinstance(event, SafetyChecked)]


def packed(data: bytes) -> bytes:
    """The zstd frame of a trace file, after its checksum is verified. Raises TraceFileError."""
    if len(data) > MAX_BYTES:
        raise TraceFileError(f"The file is larger than {MAX_BYTES >> 20} MiB, the limit for a trace.")
    if data[: len(MAGIC)] != MAGIC:
        raise TraceFileError("The file is not a Sightglass trace, or it is of another version.")
    digest, body = data[len(MAGIC) : len(MAGIC) + _DIGEST_BYTES], data[len(MAGIC) + _DIGEST_BYTES :]
    if hashlib.sha256(body).digest() != digest:
        raise TraceFileError("The file is truncated or damaged (its checksum does not match).")
    return body


def unpacked(data: bytes) -> bytes:
    """The msgpack of a trace file. Raises TraceFileError."""
    try:
        reader = zstandard.ZstdDecompressor(max_window_size=64 << 20).stream_reader(packed(data))
        content = reader.read(MAX_UNPACKED_BYTES + 1)
    except zstandard.ZstdError as error:
        raise TraceFileError(f"The trace cannot be unpacked: {error}") from error
    if len(content) > MAX_UNPACKED_BYTES:
        raise TraceFileError(f"The trace unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB.")
    return content


def _document(content: bytes) -> _Document:
    try:
        return msgspec.msgpack.decode(content, type=_Document)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TraceFileError(f"The trace cannot be unpacked: {error}") from error


def _summary(packed: msgspec.Raw) -> dict[str, Any]:
    if len(bytes(packed)) > MAX_SUMMARY_BYTES:
        raise ValueError("the summary is too large")
    return msgspec.msgpack.decode(packed, type=dict[str, Any])


def _kept(events: Sequence[AnyEvent]) -> list[tuple[int, bytes]]:
    forked = first(events, GenerationForked)
    return list(zip(forked.ids, forked.pieces, strict=True)) if forked else []


def _frames(document: _Document) -> list[Frame]:
    others = iter(decode_events(document.events))
    tokens = iter(from_columns(document.columns))
    events: list[AnyEvent] = [next(tokens) if flag else next(others) for flag in document.is_token]
    if sum(document.sizes) != len(events) or any(size < 1 for size in document.sizes) or next(others, None):
        raise ValueError("the frames do not hold all events")
    frames, seq = [], 1
    for size in document.sizes:
        frames.append(Frame(seq=seq, events=tuple(events[seq - 1 : seq - 1 + size])))
        seq += size
    return frames
