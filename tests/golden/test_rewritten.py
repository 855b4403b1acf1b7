"""Rewritten text is in no byte that leaves the server: wire, files, exports, and the APIs' streams."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import zstandard
from msgspec.structs import replace

from inference.protocol.codec import encode_events
from inference.protocol.events import AnyEvent, Frame, SafetyChecked, TextReleased, TokenSampled
from inference.safety import Guard, load_guard
from inference.safety.policy import load_policy
from tests.inference.worker.test_rewriting_output import cut, run
from tests.webapp.api.anthropic.logs import golden
from tests.webapp.api.openai.test_projections import chat, completion, response
from webapp.api.anthropic.projection import MessageProjection
from webapp.traces.export.otel import to_otlp
from webapp.traces.export.perfetto import to_perfetto
from webapp.traces.export.redact import redact
from webapp.traces.file import archive
from webapp.traces.file.event_rules import check_events
from webapp.traces.file.jsonfile import encode_json

DATUM = "anna.schmidt@clinic-nord.example"
KEY = "sk-proj-Ab3dEf6hIj9kLm2nOp5q"
PARTS = ("anna", "schmidt", "clinic", "nord", "Ab3dEf", "hIj9kLm", "nOp5q")
SAID = f"Write to {DATUM} with the key {KEY}, please."


@pytest.fixture(scope="module")
def guard() -> Guard:
    return load_guard()


@pytest.fixture(scope="module")
def frames(guard: Guard) -> list[Frame]:
    """A recorded log whose answer is one that the guard has rewritten."""
    return recorded(guard)


@pytest.fixture(scope="module")
def unchecked(guard: Guard) -> list[Frame]:
    """The same answer under a policy that rewrites nothing."""
    policy = load_policy()
    return recorded(guard.under(replace(policy, output=replace(policy.output, rewrite={}))))


def recorded(guard: Guard) -> list[Frame]:
    _, answer = run(guard, cut(SAID, set(range(0, 120, 16))))
    log = golden("finished")
    kinds = (TokenSampled, SafetyChecked, TextReleased)
    first, late = next(at for at, event in enumerate(log) if isinstance(event, TokenSampled)), log[-1].at
    moved = [replace(event, at=late) for event in answer]
    rest = [replace(event, at=late) for event in log[first:] if not isinstance(event, kinds)]
    return [Frame(seq=1, events=(*log[:first], *moved, *rest))]


def events(frames: list[Frame]) -> list[AnyEvent]:
    return [event for frame in frames for event in frame.events]


def anthropic(frames: list[Frame]) -> bytes:
    return msgspec.json.encode(MessageProjection("msg_a", "m", "toolu_a", sign=str.upper).feed(events(frames)))


SENT: dict[str, Callable[[list[Frame]], bytes]] = {
    "wire": lambda frames: encode_events(frames[0].events),
    "file": lambda frames: archive.encode(frames, {}),
    "json": lambda frames: encode_json(frames, {}),
    "perfetto": to_perfetto,
    "opentelemetry": lambda frames: to_otlp(frames, has_texts=True),
    "redacted": lambda frames: encode_json(redact(frames), {}),
    "anthropic": anthropic,
    "chat completion with log-probabilities": lambda frames: msgspec.json.encode(chat().feed(events(frames))),
    "completion with log-probabilities": lambda frames: msgspec.json.encode(completion().feed(events(frames))),
    "response with log-probabilities": lambda frames: msgspec.json.encode(response().feed(events(frames))),
}


def readable(data: bytes) -> str:
    """The bytes as text, with what is compressed or in base64 in the clear."""
    if data.find(b"\x28\xb5\x2f\xfd") >= 0:
        at = data.find(b"\x28\xb5\x2f\xfd")
        data += zstandard.ZstdDecompressor().decompressobj().decompress(data[at:])
    text = data.decode(errors="replace")
    found = re.findall(r'"([A-Za-z0-9+/]{2,}={0,2})"', text)
    encoded = (b64decode(each) for each in found if len(each) % 4 == 0)
    return text + b"".join(encoded).decode(errors="replace")


@pytest.mark.parametrize("name", SENT)
def test_no_part_of_it_is_sent(frames: list[Frame], name: str) -> None:
    said = readable(SENT[name](frames))
    assert [part for part in PARTS if part in said] == []


@pytest.mark.parametrize("name", sorted(SENT.keys() - {"redacted"}))
def test_the_search_would_find_it(unchecked: list[Frame], name: str) -> None:
    said = readable(SENT[name](unchecked))
    assert [part for part in PARTS if part in said]


@pytest.mark.parametrize("name", ["wire", "json", "anthropic", "chat completion with log-probabilities"])
def test_its_kind_is_told_instead(frames: list[Frame], name: str) -> None:
    assert "[e-mail]" in readable(SENT[name](frames)) and "[API key]" in readable(SENT[name](frames))


def test_a_saved_trace_keeps_the_rewritten_tokens_as_they_were(frames: list[Frame]) -> None:
    check_events(events(frames))
    found: Any = events(archive.decode(archive.encode(frames, {})).frames)
    tokens = [event for event in found if isinstance(event, TokenSampled)]
    assert tokens == [event for event in events(frames) if isinstance(event, TokenSampled)]
    assert json.loads(encode_json(frames, {}))["trace"]
