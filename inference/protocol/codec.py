"""JSON codec of events, frames and generation requests. Knows nothing of transports."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from inference.protocol.events import AnyEvent, Frame
from inference.protocol.request import GenerationRequest

_encoder = msgspec.json.Encoder()
_events_decoder = msgspec.json.Decoder(tuple[AnyEvent, ...])
_frame_decoder = msgspec.json.Decoder(Frame)
_request_decoder = msgspec.json.Decoder(GenerationRequest)


def encode_events(events: Sequence[AnyEvent]) -> bytes:
    """JSON array of events: the part of a frame that its writer knows (the log adds seq)."""
    return _encoder.encode(events)


def decode_events(data: bytes | str) -> tuple[AnyEvent, ...]:
    """Inverse of encode_events. Raises msgspec.ValidationError or msgspec.DecodeError."""
    return _events_decoder.decode(data)


def frame_json(seq: int, events: bytes) -> bytes:
    """A frame's JSON from its first seq and its already encoded events, without decoding them again."""
    return b'{"seq":%d,"events":%s}' % (seq, events)


def encode_frame(frame: Frame) -> bytes:
    return _encoder.encode(frame)


def decode_frame(data: bytes | str) -> Frame:
    """Raises msgspec.ValidationError or msgspec.DecodeError."""
    return _frame_decoder.decode(data)


def encode_request(request: GenerationRequest) -> str:
    return _encoder.encode(request).decode()


def decode_request(data: bytes | str) -> GenerationRequest:
    """Raises msgspec.ValidationError or msgspec.DecodeError."""
    return _request_decoder.decode(data)
