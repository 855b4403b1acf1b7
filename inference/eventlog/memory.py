"""The event log in this process's memory: the twin for tests and tools. Knows nothing of Redis."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from inference.eventlog.event_log import MAX_COMMANDS, Fenced, NothingHandedOver
from inference.protocol.events import AnyEvent, Frame
from inference.protocol.request import GenerationRequest, StepCommand


@dataclass
class _Log:
    attempt: int = 0
    is_cancelled: bool = False
    claimed: set[int] = field(default_factory=set)
    frames: list[Frame] = field(default_factory=list)
    commands: list[StepCommand] = field(default_factory=list)
    last_seq: int = 0
    handed_over: list[GenerationRequest | None] = field(default_factory=list)
    """At most one."""


class MemoryEventLog:
    """EventLog for one process; safe between threads."""

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}
        self._lock = threading.Condition()

    def open(self, request_id: str, attempt: int) -> None:
        self.fence(request_id, attempt)

    def append(self, request_id: str, events: Sequence[AnyEvent], attempt: int) -> int:
        if not events:
            raise ValueError("an append needs at least one event")
        with self._lock:
            log = self._own(request_id, attempt)
            log.frames.append(Frame(seq=log.last_seq + 1, events=tuple(events)))
            log.last_seq += len(events)
            self._lock.notify_all()
            return log.last_seq

    def fence(self, request_id: str, attempt: int) -> None:
        with self._lock:
            self._own(request_id, attempt)

    def await_first(self, request_id: str, attempt: int, timeout_s: float) -> bool:
        with self._lock:
            log = self._logs.setdefault(request_id, _Log())
            is_there = self._lock.wait_for(lambda: bool(log.frames), timeout_s)
            if attempt < log.attempt:
                raise _fenced(request_id, attempt, log.attempt)
            return is_there

    def claim(self, request_id: str, attempt: int) -> bool:
        with self._lock:
            log = self._logs.setdefault(request_id, _Log())
            if attempt < log.attempt:
                raise _fenced(request_id, attempt, log.attempt)
            is_first = attempt not in log.claimed
            log.claimed.add(attempt)
            return is_first

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

    def hand_over(
        self, request_id: str, events: Sequence[AnyEvent], attempt: int, generation: GenerationRequest
    ) -> None:
        self.append(request_id, events, attempt)
        self._give(request_id, generation)

    def withdraw(self, request_id: str) -> None:
        self._give(request_id, None)

    def _give(self, request_id: str, generation: GenerationRequest | None) -> None:
        with self._lock:
            self._logs.setdefault(request_id, _Log()).handed_over = [generation]
            self._lock.notify_all()

    def receive(self, request_id: str, attempt: int, timeout_s: float) -> GenerationRequest | None:
        with self._lock:
            log = self._logs.setdefault(request_id, _Log())
            if not self._lock.wait_for(lambda: log.handed_over, timeout_s):
                raise NothingHandedOver(f"nothing was handed over for {request_id}")
            (generation,) = log.handed_over
            return generation if generation is not None and generation.attempt == attempt else None

    def read(self, request_id: str, after: int = 0) -> list[Frame]:
        with self._lock:
            log = self._logs.get(request_id, _Log())
            return [frame for frame in log.frames if frame.last_seq > after]

    def read_backwards(self, request_id: str) -> Iterator[Frame]:
        return reversed(self.read(request_id))

    def retire(self, request_id: str) -> None:
        """The events stay: this log ends with its process."""
        self.withdraw(request_id)

    def forget(self, request_id: str) -> None:
        with self._lock:
            log = self._logs.get(request_id, _Log())
            log.frames.clear()
            log.commands.clear()
        self.withdraw(request_id)

    def last_seq(self, request_id: str) -> int:
        with self._lock:
            return self._logs.get(request_id, _Log()).last_seq


def _fenced(request_id: str, attempt: int, owner: int) -> Fenced:
    return Fenced(f"{request_id} belongs to attempt {owner}, not {attempt}")
