"""The text of server-sent events as its events, also where it breaks off. Pure. Knows nothing of their meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from webapp.ground.gateway.json_faults import fault_in
from webapp.surfaces.bring.json_text import Malformed, parse

DONE = "[DONE]"
_LINE = re.compile(r"\r\n|\r|\n")
"""The line ends of server-sent events: not those of Unicode, which a text may hold."""


@dataclass(frozen=True)
class Event:
    """An event with its data."""

    name: str
    value: Mapping[str, Any]


@dataclass(frozen=True)
class Stream:
    """The events of a recorded stream."""

    events: tuple[Event, ...]
    has_done: bool
    """It ends with OpenAI's last line."""
    is_torn: bool
    """Its last event is not complete."""


def read_stream(text: str) -> Stream:
    """Raises Malformed for an event before the last one whose data is no JSON object."""
    found = list(_events(_LINE.split(text)))
    events: list[Event] = []
    has_done = False
    for number, (name, data, is_whole) in enumerate(found, start=1):
        if data.strip() == DONE:
            has_done = True
            continue
        value = _value(data)
        if value is None and number == len(found) and not is_whole:
            return Stream(tuple(events), has_done, is_torn=True)
        if value is None:
            raise Malformed(f"the data of event {number} is no JSON object: {fault_in(data) or 'it is no object'}")
        events.append(Event(name, value))
    return Stream(tuple(events), has_done, is_torn=False)


def _value(data: str) -> Mapping[str, Any] | None:
    try:
        value = parse(data)
    except Malformed:
        return None
    return value if isinstance(value, dict) else None


def _events(lines: list[str]) -> Iterator[tuple[str, str, bool]]:
    """Name, data, and whether the empty line after the event is there. An event without data is none."""
    name, data = "", list[str]()
    for line in lines:
        if not line:
            if data:
                yield name, "\n".join(data), True
            name, data = "", []
            continue
        field, _, rest = line.partition(":")
        if field == "event":
            name = rest.removeprefix(" ")
        elif field == "data":
            data.append(rest.removeprefix(" "))
    if data:
        yield name, "\n".join(data), False
