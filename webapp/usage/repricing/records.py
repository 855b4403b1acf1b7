"""What a simulation needs to know of one request. Plain values; knows nothing of traces and databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from inference.protocol.request import CacheMark


@dataclass(frozen=True)
class Group:
    """Requests whose costs are added up."""

    model: str
    user_id: int
    key_id: int | None
    """null: they came with a sign-in, or the key was deleted."""


@dataclass(frozen=True)
class Read:
    """One request's prompt and answer as the engine read and wrote them."""

    group: Group
    day: date
    """Of its arrival, in UTC."""
    begun_s: float
    """When its prompt was looked up, in seconds since the epoch."""
    ended_s: float
    ids: Sequence[int]
    """All tokens: the prompt, then the answer."""
    num_read: int
    """Tokens that were read: the prompt, and an answer that a fork took over."""
    block_size: int
    num_found: int
    """Blocks that the engine found."""
    marks: tuple[CacheMark, ...]
    system_end: int
    """Tokens up to the end of the system prompt and the tools; 0: there is neither."""
    history_end: int
    """Tokens up to the end of all but the newest message."""
    num_output: int
    billed_nano: int
    currency: str
    is_batch: bool = False
    """It answers a line of a batch, at a lower price."""
