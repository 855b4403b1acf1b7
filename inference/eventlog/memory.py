"""The event log in this process's memory: the twin for tests and tools. Knows nothing of Redis."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from inference.eventlog.event_log import MAX_COMMANDS, Fenced, LogLost
from inference.protocol.events import AnyEvent, Frame
from inference.protocol.request import StepCommand


@dataclass
class _Log:
    attempt: int = 0
    is_cancelled: bool = False
    claimed: set[int] = field(default_factory=set)
    frames: list[Frame] = field(default_factory=list)
    commands: list[StepCommand] = field(default_factory=list)
    last_seq: int = 0

    def copy(self) -> _Log:
        return replace(self, claimed=set(self.claimed), frames=list(self.frames), commands=list(self.commands))


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
        self, request_id: str, events: Sequence[AnyEvent], attempt: int, known: int = 0, is_next: bool = False
    ) -> int:
        if not events:
            raise ValueError("an append needs at least one event")
        with self._lock:
            log = self._own(request_id, attempt)
            if log.last_seq < known:
                raise LogLost(f"{request_id} ends at {log.last_seq}, before {known}")
            if is_next and log.last_seq > known:
                raise Fenced(f"{request_id} goes on after {log.last_seq}, not {known}")
            log.frames.append(Frame(seq=log.last_seq + 1, events=tuple(events)))
            log.last_seq += len(events)
            return log.last_seq

    def fence(self, request_id: str, attempt: int) -> None:
        with self._lock:
            self._own(request_id, attempt)

    def claim(self, request_id: str, attempt: int) -> bool:
        with self._lock:
            log = self._logs.setdefault(request_id, _Log())
            if attempt < log.attempt:
                raise _fenced(request_id, attempt, log.attempt)
            if not log.last_seq:
                raise LogLost(f"{request_id} has no log")
            is_first = attempt not in log.claimed
            log.claimed.add(attempt)
            return is_first

    def is_claimed(self, request_id: str, attempt: int) -> bool:
        with self._lock:
            return attempt in self._logs.get(request_id, _Log()).claimed

    def _own(self, request_id: str, attempt: int) -> _Log:
        log = self._logs.setdefault(request_id, _Log())
        if attempt < log.attempt:
            raise _fenced(request_id, attempt, log.attempt)
        log.attempt = attempt
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
        with self._lock:
            log = self._logs.get(request_id, _Log())
            return [frame for frame in log.frames if frame.last_seq > after]

    def read_backwards(self, request_id: str) -> Iterator[Frame]:
        return reversed(self.read(request_id))

    def retire(self, request_id: str) -> None:
        """Keep the events: this log ends with its process."""

    def forget(self, request_id: str) -> None:
        with self._lock:
            log = self._logs.get(request_id, _Log())
            log.frames.clear()
            log.commands.clear()

    def last_seq(self, request_id: str) -> int:
        with self._lock:
            return self._logs.get(request_id, _Log()).last_seq


def _fenced(request_id: str, attempt: int, owner: int) -> Fenced:
    return Fenced(f"{request_id} belongs to attempt {owner}, not {attempt}")
