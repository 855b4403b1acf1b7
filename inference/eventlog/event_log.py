"""The append-only log of one request: its interface. Knows nothing of what the events mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from inference.eventlog.entry import BEGINNING, Entry, Mark
from inference.protocol.events import AnyEvent, Frame
from inference.protocol.request import StepCommand

OPEN_EXPIRY_S = 30 * 86_400
"""Lifetime of a log after its last append. It is a net for logs that are never settled, longer than any outage."""
EXPIRY_S = 3600
"""Lifetime of a settled log's attempt and numbers: a late writer is refused, and begins no new log."""
RETIRED_EXPIRY_S = 120
"""Lifetime of a log once its trace is saved: long enough that readers in the middle of it seldom have to switch."""
NO_ATTEMPT = 2**31 - 1
"""The fence of a forgotten log. Every attempt has a lower number."""
MAX_COMMANDS = 65_536
"""Most commands to one request: two for each of 32,768 tokens."""


class Fenced(Exception):
    """The log belongs to a later attempt; the writer must stop."""


class LogLost(Exception):
    """The log lacks events that its writer knows: Redis came back without its end, or without all of it."""


class EventLog(Protocol):
    """One log per request; seq is assigned by the log, gapless from 1."""

    def open(self, request_id: str, attempt: int) -> None:
        """Create the log. Raises Fenced when a later attempt owns it."""

    def append(
        self,
        request_id: str,
        events: Sequence[AnyEvent],
        attempt: int,
        known: Mark = BEGINNING,
        is_next: bool = False,
        claim: str = "",
    ) -> Entry:
        """Append the events as one frame, and return it.

        known: the end of the log as the caller knows it; other writers may have appended since. is_next: the frame must
        follow it. claim: the caller's claim of the attempt, which is set again where it was lost. Raises LogLost where
        the log has not all that `known` stands for; Fenced, also where is_next and the log has gone on, or another
        claim has the attempt; ValueError when there are no events.
        """

    def put_back(self, request_id: str, attempt: int, claim: str, base: Mark, lost: Sequence[Entry]) -> None:
        """Append entries that the log lost after `base`, as they were, and with them the attempt and its claim.

        Raises Fenced as append does, and LogLost where the log does not end with `base`.
        """

    def fence(self, request_id: str, attempt: int) -> None:
        """Refuse appends of attempts older than this one from now on."""

    def claim(self, request_id: str, attempt: int, claim: str = "") -> bool:
        """Return True for the first claim of the attempt: a task delivered twice runs once.

        claim: a name of its own for each task; a claim with the same name is the same claim. Raises Fenced, and LogLost
        where there is no log.
        """

    def is_claimed(self, request_id: str, attempt: int) -> bool:
        """Return whether a worker has claimed the attempt."""

    def cancel(self, request_id: str) -> None:
        """Set the flag that the engine reads each step."""

    def is_cancelled(self, request_ids: Sequence[str]) -> list[bool]:
        """Return the cancel flag of each request."""

    def command(self, request_id: str, command: StepCommand) -> None:
        """Send a step-mode command to the worker; commands beyond MAX_COMMANDS are dropped."""

    def commands(self, request_id: str, after: int) -> list[StepCommand]:
        """Return the commands after the first `after`; if negative, the last `-after`."""

    def read(self, request_id: str, after: int = 0) -> list[Frame]:
        """Return all frames whose last seq is greater than `after`."""

    def entries(self, request_id: str, after: int = 0) -> list[Entry]:
        """Return the same with their events encoded."""

    def read_backwards(self, request_id: str) -> Iterator[Frame]:
        """Yield all frames, the last first; few more are fetched than are read."""

    def retire(self, request_id: str) -> None:
        """Let the events expire soon, as they are saved elsewhere. Numbering and fencing stay for EXPIRY_S."""

    def forget(self, request_id: str) -> None:
        """Delete events and commands at once, and refuse all attempts, so that no late append starts a new log."""

    def mark(self, request_id: str) -> Mark:
        """Return the mark of the log's end; BEGINNING when there is no such log."""

    def last_seq(self, request_id: str) -> int:
        """Return the last seq; 0 when there is no such log."""
