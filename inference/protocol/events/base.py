"""The bases of events and of the values inside them. Knows nothing of any one event."""

from __future__ import annotations

import msgspec


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the values inside events."""


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of all events."""

    at: int
    """µs since the request was accepted (negative: the browser, before the request reached us)."""
