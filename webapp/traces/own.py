"""A trace as it leaves this server: without texts of any other request. Pure: frames in, frames out.

Whoever shares an answer has looked at what it was asked with, and may have edited something out of it since the turn
before. Deleting that turn has to delete it for good, wherever this trace has gone meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from inference.protocol.events import AnyEvent, ContextCompared, Frame


def own(frames: Sequence[Frame]) -> list[Frame]:
    """The same frames; of the prompt before, counts, places and sources are left."""
    return [replace(frame, events=tuple(map(_own, frame.events))) for frame in frames]


def _own(event: AnyEvent) -> AnyEvent:
    if not isinstance(event, ContextCompared):
        return event
    changed = tuple(replace(change, text="") for change in event.changed)
    removed = tuple(replace(gone, text="") for gone in event.removed)
    return replace(event, there=(), changed=changed, removed=removed)
