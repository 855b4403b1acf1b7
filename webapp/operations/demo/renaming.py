"""Gives recorded events other names and another time; all else stays as recorded. Pure: frames in, frames out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inference.protocol.events import AnyEvent, Frame, TokenSampled

_CLOCK = "_unix_us"
"""Ends the name of each field with a time of the wall clock. All other times count from the request's arrival."""


def renamed(frames: Sequence[Frame], names: Mapping[str, str], later_us: int = 0) -> list[Frame]:
    """The frames with other names, such as ids of requests and users, and clock times later by this many µs.

    names: the new name for each old one. A text that is not a name as a whole stays.
    """
    return [
        Frame(seq=frame.seq, events=tuple(_event(each, names, later_us) for each in frame.events)) for frame in frames
    ]


def _event(event: AnyEvent, names: Mapping[str, str], later_us: int) -> AnyEvent:
    if isinstance(event, TokenSampled):  # has neither names nor clock times, and there are many
        return event
    plain = msgspec.to_builtins(event)
    changed = _changed(plain, names, later_us)
    return event if changed == plain else msgspec.convert(changed, type(event))


def _changed(value: Any, names: Mapping[str, str], later_us: int) -> Any:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, dict):
        return {key: _of_field(key, each, names, later_us) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(each, names, later_us) for each in value]
    return value


def _of_field(name: str, value: Any, names: Mapping[str, str], later_us: int) -> Any:
    is_clock = name.endswith(_CLOCK) and value is not None
    return value + later_us if is_clock else _changed(value, names, later_us)
