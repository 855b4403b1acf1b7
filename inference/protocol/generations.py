"""Tells a request's generations apart. Pure: events in, events out. Knows nothing of what follows a generation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from inference.protocol.events import AnyEvent, GenerationEvent, TokenProposed


def last_number(events: Iterable[AnyEvent]) -> int:
    """Return the number of the last generation that the events tell of; 0 where they tell of none."""
    return max((event.generation for event in events if isinstance(event, GenerationEvent)), default=0)


def of_generation(events: Iterable[AnyEvent], number: int) -> list[AnyEvent]:
    """Return the events of one generation, and those of the request as a whole."""
    return [event for event in events if not isinstance(event, GenerationEvent) or event.generation == number]


def by_number(events: Iterable[AnyEvent]) -> dict[int, list[AnyEvent]]:
    """Return each generation's events by its number, without those of the request as a whole."""
    found: dict[int, list[AnyEvent]] = {}
    for event in events:
        if isinstance(event, GenerationEvent):
            found.setdefault(event.generation, []).append(event)
    return found


def latest(events: Sequence[AnyEvent]) -> list[AnyEvent]:
    """Return the events of the last generation, and those of the request as a whole."""
    return of_generation(events, last_number(events))


def numbered(event: AnyEvent, number: int) -> AnyEvent:
    """Return the event as one of this generation; an event of the whole request stays as it is."""
    if isinstance(event, TokenProposed):
        return replace(event, generation=number, token=replace(event.token, generation=number))
    return replace(event, generation=number) if isinstance(event, GenerationEvent) else event
