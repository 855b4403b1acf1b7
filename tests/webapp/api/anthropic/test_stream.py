"""The bytes of a stream: silence, a failure in the middle, and events that cannot be read any more."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import msgspec

from inference.protocol.events import AnyEvent
from tests.webapp.api.anthropic.logs import begun, ended, failed, released
from webapp.api.anthropic.message_views import frames
from webapp.api.anthropic.projection import MessageProjection
from webapp.surfaces.calls.relay import Arrived, Lost

Item = Sequence[AnyEvent] | None | Lost


async def relayed(items: Sequence[Item]) -> AsyncGenerator[Arrived | None, None]:
    """What a relay yields: events, None for silence, and perhaps its end."""
    for item in items:
        if isinstance(item, Lost):
            raise item
        yield None if item is None else Arrived(0, item)


async def sent(*items: Item) -> list[str]:
    """The names of the stream's events; a comment as it is."""
    projection = MessageProjection("msg_a", "m", "toolu_a", sign=str.upper)
    found = []
    data = b"".join([each async for each in frames(relayed(items), projection)])
    for event in data.decode().removesuffix("\n\n").split("\n\n"):
        first, _, rest = event.partition("\n")
        found.append(first.removeprefix("event: "))
        if not first.startswith(":"):
            assert msgspec.json.decode(rest.removeprefix("data: "))["type"] == found[-1]
    return found


async def test_silence_before_the_first_event_is_a_comment_and_later_a_ping() -> None:
    assert await sent(None, begun(), None, released("Hello"), None, ended()) == [
        ": keep-alive",
        "message_start",
        "ping",
        "content_block_start",
        "ping",
        "content_block_delta",
        "ping",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


async def test_a_failure_in_mid_stream_is_an_error_event_and_the_end() -> None:
    found = await sent([*begun(), *released("Hel")], failed("worker_lost", []))
    assert found[-2:] == ["content_block_delta", "error"]


async def test_events_that_cannot_be_read_any_more_are_an_error_event() -> None:
    assert (await sent(begun(), Lost("The log was lost.")))[-1] == "error"


async def test_an_overloaded_server_is_told_by_anthropics_word() -> None:
    projection = MessageProjection("msg_a", "m", "toolu_a", sign=str.upper)
    data = [each async for each in frames(relayed([failed("overloaded", begun())]), projection)]
    assert b'"type":"overloaded_error"' in data[-1]
