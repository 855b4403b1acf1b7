"""A trace as it is kept: without texts of any other request. Pure: frames in, frames out.

What was edited away since the turn before is deleted with that turn. A trace that quoted it would keep it, wherever it
has gone meanwhile; so none does, and the quotes are read from the other trace as long as that is there (decision 19).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from inference.protocol.events import AnyEvent, ContextCompared, Frame
from webapp.context.compare import is_number


def own(frames: Sequence[Frame]) -> list[Frame]:
    """The same frames; of the prompt before, counts, places and sources are left."""
    return [replace(frame, events=tuple(map(own_event, frame.events))) for frame in frames]


def own_event(event: AnyEvent) -> AnyEvent:
    return without_texts(event) if isinstance(event, ContextCompared) else event


def without_texts(compared: ContextCompared) -> ContextCompared:
    """What it tells of the other request but for its texts."""
    is_known = compared.is_number is None and compared.there
    return replace(
        compared,
        is_number=is_number(compared.here, compared.there) if is_known else compared.is_number,
        there=(),
        changed=tuple(replace(change, text="") for change in compared.changed),
        removed=tuple(replace(gone, text="") for gone in compared.removed),
    )
