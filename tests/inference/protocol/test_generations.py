"""A request's generations are told apart by the number on their events, which the wire leaves out where it is 0."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from inference.protocol.codec import decode_events, encode_events
from inference.protocol.events import (
    AnyEvent,
    Event,
    GenerationEvent,
    GenerationQueued,
    RequestCancelled,
    TextReleased,
    TokenProposed,
)
from inference.protocol.generations import by_number, last_number, latest, numbered
from tests.inference.worker.test_output_guard import token

OF_THE_REQUEST = ("request.", "gateway.", "embedding.", "memory.", "attachment.", "bill.", "probe.", "context.compared")
CANCELLED = RequestCancelled(at=4, by="user")


def released(number: int) -> TextReleased:
    return TextReleased(at=3, generation=number, text="a", num_tokens=1)


@pytest.mark.parametrize("kind", get_args(AnyEvent), ids=lambda kind: kind.__struct_config__.tag)
def test_every_event_from_the_context_to_the_finish_has_a_generation(kind: type[Event]) -> None:
    is_of_the_request = str(kind.__struct_config__.tag).startswith(OF_THE_REQUEST)
    assert issubclass(kind, GenerationEvent) != is_of_the_request


def test_the_wire_names_a_generation_only_after_the_first() -> None:
    written = json.loads(encode_events([released(0), released(1)]))
    assert [event.get("generation") for event in written] == [None, 1]
    assert decode_events(json.dumps(written)) == (released(0), released(1))


def test_only_the_last_generation_counts_beside_what_is_of_the_whole_request() -> None:
    events: list[AnyEvent] = [released(0), CANCELLED, released(1), released(1)]
    assert last_number(events) == 1
    assert latest(events) == [CANCELLED, released(1), released(1)]
    assert by_number(events) == {0: [released(0)], 1: [released(1)] * 2}
    assert (last_number([]), latest([CANCELLED])) == (0, [CANCELLED])


def test_an_event_gets_its_number_and_a_proposed_token_too() -> None:
    queued = GenerationQueued(at=1, attempt=1, queue_depth=0)
    assert numbered(queued, 2) == GenerationQueued(at=1, generation=2, attempt=1, queue_depth=0)
    assert numbered(CANCELLED, 2) is CANCELLED
    proposed = numbered(TokenProposed(at=1, token=token(0, b"x")), 2)
    assert isinstance(proposed, TokenProposed)
    assert (proposed.generation, proposed.token.generation) == (2, 2)
