"""Removes other requests' texts from a trace before it is saved. Pure: frames in, frames out.

A text that was edited away since the turn before is deleted with that turn. A later trace must not quote it, or it
would outlive that. The quotes are read from the other trace while it exists (decision 19).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from inference.protocol.events import AnyEvent, ContextCompared, Frame
from webapp.ground.context.compare import is_number


def strip_previous_turn_texts(frames: Sequence[Frame]) -> list[Frame]:
    """The same frames; of the earlier prompt they keep only counts, places and sources."""
    return [replace(frame, events=tuple(map(strip_event, frame.events))) for frame in frames]


def strip_event(event: AnyEvent) -> AnyEvent:
    return without_texts(event) if isinstance(event, ContextCompared) else event


def without_texts(compared: ContextCompared) -> ContextCompared:
    """The comparison without the other request's texts."""
    is_known = compared.is_number is None and compared.there
    return replace(
        compared,
        is_number=is_number(compared.here, compared.there) if is_known else compared.is_number,
        there=(),
        changed=tuple(replace(change, text="") for change in compared.changed),
        removed=tuple(replace(gone, text="") for gone in compared.removed),
    )
