"""The event log in this process's memory: the twin for tests and tools. Knows nothing of Redis."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from inference.eventlog.entry import BEGINNING, Entry, Mark, digest_of
from inference.eventlog.event_log import MAX_COMMANDS, NO_ATTEMPT, Fenced, LogLost
from inference.protocol.codec import encode_events
from inference.protocol.events import AnyEvent, Frame
from inference.protocol.request import StepCommand


@dataclass
class _Log:
    attempt: int = 0
    is_cancelled: bool = False
    claims: dict[int, str] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    commands: list[StepCommand] = field(default_factory=list)
    mark: Mark = BEGINNING

    def copy(self) -> _Log:
        return replace(self, claims=dict(self.claims), entries=list(self.entries), commands=list(self.commands))


class MemoryEventLog:
    """EventLog for one process; safe between threads."""

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}
        self._lock = threading.Lock()

    def copy(self) -> MemoryEventLog:
        """Return the log as it is now: what a server has on its disk when it comes back without its end."""
        copy = MemoryEventLog()
        with self._lock:
            copy._logs = {request_id: log.copy() for request_id, log in self._logs.items()}
        return copy

    def open(self, request_id: str, attempt: int) -> None:
        self.fence(request_id, attempt)

    def append(
        self,
        request_id: str,
        events: Sequence[AnyEvent],
        attempt: int,
        known: Mark = BEGINNING,
        is_next: bool = False,
        claim: str = "",
    ) -> Entry:
        if not events:
            raise ValueError("an append needs at least one event")
        with self._lock:
            log = self._own(request_id, attempt, claim)
            last = log.mark
            if not _has(log, known):
                raise LogLost(f"{request_id} ends at {last} and has not {known}")
            if is_next and last.seq > known.seq:
                raise Fenced(f"{request_id} goes on after {last.seq}, not {known.seq}")
            encoded = encode_events(events)
            digest = digest_of(last.digest, encoded)
            entry = Entry(last.seq + len(events), last.seq + 1, encoded, last.digest, digest)
            _take(log, attempt, claim, [entry])
            return entry

    def put_back(self, request_id: str, attempt: int, claim: str, base: Mark, lost: Sequence[Entry]) -> None:
        with self._lock:
            log = self._own(request_id, attempt, claim)
            if log.mark == lost[-1].mark:
                return
            if log.mark != base:
                raise LogLost(f"{request_id} ends at {log.mark}, not {base}")
            _take(log, attempt, claim, lost)

    def fence(self, request_id: str, attempt: int) -> None:
        with self._lock:
            self._own(request_id, attempt, "").attempt = attempt

    def claim(self, request_id: str, attempt: int, claim: str = "") -> bool:
        claim = claim or secrets.token_hex(4)
        with self._lock:
            log = self._own(request_id, attempt, "")
            if not log.mark.seq:
                raise LogLost(f"{request_id} has no log")
            return log.claims.setdefault(attempt, claim) == claim

    def is_claimed(self, request_id: str, attempt: int) -> bool:
        with self._lock:
            return attempt in self._logs.get(request_id, _Log()).claims

    def _own(self, request_id: str, attempt: int, claim: str) -> _Log:
        """Return the log. Raises Fenced where a later attempt or another claim has it."""
        log = self._logs.setdefault(request_id, _Log())
        if attempt < log.attempt:
            raise Fenced(f"{request_id} belongs to attempt {log.attempt}, not {attempt}")
        if claim and log.claims.get(attempt, claim) != claim:
            raise Fenced(f"attempt {attempt} of {request_id} runs in another task")
        return log

    def cancel(self, request_id: str) -> None:
        with self._lock:
            self._logs.setdefault(request_id, _Log()).is_cancelled = True

    def is_cancelled(self, request_ids: Sequence[str]) -> list[bool]:
        with self._lock:
            return [request_id in self._logs and self._logs[request_id].is_cancelled for request_id in request_ids]

    def command(self, request_id: str, command: StepCommand) -> None:
        with self._lock:
            commands = self._logs.setdefault(request_id, _Log()).commands
            commands.append(command)
            del commands[MAX_COMMANDS:]

    def commands(self, request_id: str, after: int) -> list[StepCommand]:
        with self._lock:
            return self._logs.get(request_id, _Log()).commands[after:]

    def read(self, request_id: str, after: int = 0) -> list[Frame]:
        return [entry.frame for entry in self.entries(request_id, after)]

    def entries(self, request_id: str, after: int = 0) -> list[Entry]:
        with self._lock:
            return [entry for entry in self._logs.get(request_id, _Log()).entries if entry.last_seq > after]

    def read_backwards(self, request_id: str) -> Iterator[Frame]:
        return reversed(self.read(request_id))

    def retire(self, request_id: str) -> None:
        """Keep the events: this log ends with its process."""

    def forget(self, request_id: str) -> None:
        with self._lock:
            log = self._logs.setdefault(request_id, _Log())
            log.attempt = NO_ATTEMPT
            log.entries.clear()
            log.commands.clear()

    def lose(self, request_id: str) -> None:
        """Lose all of the log, as a server does that comes back without its data."""
        with self._lock:
            self._logs.pop(request_id, None)

    def mark(self, request_id: str) -> Mark:
        with self._lock:
            return self._logs.get(request_id, _Log()).mark

    def last_seq(self, request_id: str) -> int:
        return self.mark(request_id).seq


def _has(log: _Log, known: Mark) -> bool:
    """Return whether the log has all that the mark stands for."""
    if known.seq > log.mark.seq:
        return False
    return not known.digest or any(entry.mark == known for entry in reversed(log.entries))


def _take(log: _Log, attempt: int, claim: str, entries: Sequence[Entry]) -> None:
    log.entries.extend(entries)
    log.mark, log.attempt = log.entries[-1].mark, attempt
    if claim:
        log.claims[attempt] = claim
