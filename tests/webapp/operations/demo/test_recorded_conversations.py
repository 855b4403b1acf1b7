"""The recorded conversations are complete and small; a copy has other names and times, and is else as recorded."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from inference.protocol.events import AnyEvent, Frame, GatewayChecked, GenerationStarted, RequestAccepted, TokenSampled
from webapp.operations.demo.prices import LARGE, SMALL
from webapp.operations.demo.recorded_conversations import FILE, Kind, read
from webapp.operations.demo.renaming import renamed
from webapp.requests.outcome import fold

HOUR_US = 3_600_000_000


@pytest.fixture(scope="module")
def frames() -> list[Frame]:
    recording = read()
    return recording.traces[recording.of("usual", SMALL)[0].request_ids[0]].frames


def events(frames: list[Frame]) -> list[AnyEvent]:
    return [event for frame in frames for event in frame.events]


def test_each_kind_is_there_and_the_file_is_small() -> None:
    recording = read()
    for kind in get_args(Kind):
        models = [LARGE] if kind == "uncached" else [SMALL, LARGE]
        assert all(recording.of(kind, model) for model in models), kind
    assert any(conversation.num_requests == 3 for conversation in recording.conversations)
    assert FILE.stat().st_size < 1 << 20


def test_each_log_is_complete_and_of_its_kind() -> None:
    recording = read()
    for conversation in recording.conversations:
        for request_id in conversation.request_ids:
            outcome = fold(recording.traces[request_id].frames)
            assert outcome.is_terminal
            code = outcome.failure.code if outcome.failure else None
            assert code == {"blocked": "blocked", "lost": "worker_lost"}.get(conversation.kind)
            assert (outcome.queue_us or 0) > 1_000_000 or conversation.kind not in ("waited", "lost")
            assert outcome.usage.uncached_input > 2_000 or conversation.kind != "uncached"


def test_a_copy_has_other_names_and_a_later_time(frames: list[Frame]) -> None:
    before = events(frames)
    accepted = before[0]
    assert isinstance(accepted, RequestAccepted)
    started = next(event for event in before if isinstance(event, GenerationStarted))
    checked = next(event for event in before if isinstance(event, GatewayChecked))
    names = {accepted.request_id: "req_new", started.worker: "demo-worker-1", checked.principal: "user:77"}
    after = events(renamed(frames, names, HOUR_US))
    text = msgspec.json.encode(after)
    assert not any(msgspec.json.encode(old) in text for old in names)
    assert all(msgspec.json.encode(new) in text for new in names.values())
    moved = after[0]
    assert isinstance(moved, RequestAccepted)
    assert moved.accepted_unix_us == accepted.accepted_unix_us + HOUR_US
    assert [event.at for event in after] == [event.at for event in before]
    assert [event for event in after if isinstance(event, TokenSampled)] == [
        event for event in before if isinstance(event, TokenSampled)
    ]


def test_the_names_changed_back_give_the_same_events(frames: list[Frame]) -> None:
    accepted = events(frames)[0]
    assert isinstance(accepted, RequestAccepted)
    there = renamed(frames, {accepted.request_id: "req_new"}, HOUR_US)
    assert renamed(there, {"req_new": accepted.request_id}, -HOUR_US) == frames
