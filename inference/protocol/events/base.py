"""The bases of events and of the values inside them. Knows nothing of any one event."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from inference.protocol.events.shown import Shown


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the values inside events."""

    unredacted: ClassVar[str | None] = None
    """The fields that a redacted trace leaves in, by name; see Event."""


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of all events."""

    at: int
    """µs since the request was accepted (negative: the browser, before the request reached us)."""

    unredacted: ClassVar[str | None] = None
    """The fields beside `at` that a redacted trace leaves in, by name. All others get their default or a replacement.
    None: a redacted trace leaves the event out. An unredacted field tells nothing of the conversation's text."""
    shown: ClassVar[Shown] = Shown()
    """Display of this type. The default: a row in the list of events, and no more."""


class GenerationEvent(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the events of one generation, from its context to its end.

    There are several per token, so the wire leaves out a field that has its default. The page's reducer fills it in
    (frontend/src/trace/fold.ts).
    """

    generation: int = 0
    """Number of the generation in its request, from 0. Positions of tokens begin anew in each."""
