"""The append-only log of one request: its interface. Knows nothing of what the events mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from inference.protocol.events import AnyEvent, Frame
from inference.protocol.request import StepCommand

EXPIRY_S = 3600
"""How long a log stays after its last append: long enough for every reader and for what settles it late."""
RETIRED_EXPIRY_S = 120
"""How long it stays once its trace is saved: readers that are in the middle of it seldom need to change over."""
MAX_COMMANDS = 65_536
"""Two for each of 32,768 tokens."""


class Fenced(Exception):
    """The log belongs to a later attempt; the writer must stop."""


class EventLog(Protocol):
    """One log per request; seq is assigned by the log, gapless from 1."""

    def open(self, request_id: str, attempt: int) -> None:
        """Create the log. Raises Fenced when a later attempt owns it."""

    def append(self, request_id: str, events: Sequence[AnyEvent], attempt: int, after: int | None = None) -> int:
        """Append the events as one frame; returns the last seq.

        after: the last seq that the caller has read; None: the frame may follow any.
        Raises Fenced, also when the log has gone on since `after`; ValueError when there are no events.
        """

    def fence(self, request_id: str, attempt: int) -> None:
        """From now on refuse appends of attempts older than this one."""

    def claim(self, request_id: str, attempt: int) -> bool:
        """Whether this call is the first to claim the attempt: what is delivered twice runs once. Raises Fenced."""

    def cancel(self, request_id: str) -> None:
        """Set the flag that the engine reads each step."""

    def is_cancelled(self, request_ids: Sequence[str]) -> list[bool]:
        """The flag of each request."""

    def command(self, request_id: str, command: StepCommand) -> None:
        """Tell the worker what is wanted of an answer in step mode; what comes after MAX_COMMANDS is dropped."""

    def commands(self, request_id: str, after: int) -> list[StepCommand]:
        """Those that came after the first so many; below 0: the last so many."""

    def read(self, request_id: str, after: int = 0) -> list[Frame]:
        """All frames whose last seq is greater than `after`."""

    def read_backwards(self, request_id: str) -> Iterator[Frame]:
        """All frames, the last first; only as many are fetched as are looked at, and a few more."""

    def retire(self, request_id: str) -> None:
        """The events are saved elsewhere: they may go soon. Numbering and fencing stay."""

    def forget(self, request_id: str) -> None:
        """What the events told is to be gone at once. Numbering and fencing stay, so that nothing late begins anew."""

    def last_seq(self, request_id: str) -> int:
        """0 when there is no such log."""
