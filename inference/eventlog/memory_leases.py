"""The leases in this process's memory: the twin for tests. Knows nothing of Redis."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from inference.eventlog.leases import Holding


@dataclass(frozen=True)
class _Lease:
    attempt: int
    deadline_ms: int
    worker: str
    """Empty: it is placed on no worker."""


class MemoryLeases:
    """Leases for one process and one thread at a time."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """now: the clock by which deadlines count, in seconds."""
        self._now = now
        self._leases: dict[str, _Lease] = {}

    def copy(self) -> MemoryLeases:
        """Return the leases as they are now."""
        copy = MemoryLeases(self._now)
        copy._leases = dict(self._leases)
        return copy

    def grant(self, request_id: str, attempt: int, duration_s: float, worker: str | None = None) -> bool:
        held = self._leases.get(request_id)
        if held is not None and held.attempt > attempt:
            return False
        before = held.worker if held is not None else ""
        self._leases[request_id] = _Lease(attempt, self._after(duration_s), before if worker is None else worker)
        return True

    def renew(self, holdings: Iterable[Holding], duration_s: float) -> int:
        held = [each for each in holdings if self._holds(each)]
        for request_id, _ in held:
            self._leases[request_id] = replace(self._leases[request_id], deadline_ms=self._after(duration_s))
        return len(held)

    def end(self, request_id: str) -> None:
        self._leases.pop(request_id, None)

    def overdue(self) -> dict[str, float]:
        now_ms = self._after(0)
        due = [(lease.deadline_ms, pk) for pk, lease in self._leases.items() if lease.deadline_ms <= now_ms]
        return {request_id: float(deadline_ms) for deadline_ms, request_id in sorted(due)}

    def take(self, request_id: str, deadline: float, duration_s: float) -> bool:
        held = self._leases.get(request_id)
        if held is None or held.deadline_ms != deadline:
            return False
        self._leases[request_id] = replace(held, deadline_ms=self._after(duration_s))
        return True

    def worker_of(self, request_id: str) -> str | None:
        held = self._leases.get(request_id)
        return held.worker or None if held is not None else None

    def loads(self, workers: Sequence[str]) -> list[int]:
        return [sum(lease.worker == worker for lease in self._leases.values()) for worker in workers]

    def missing(self, request_ids: Sequence[str]) -> list[str]:
        return [request_id for request_id in request_ids if request_id not in self._leases]

    def _holds(self, holding: Holding) -> bool:
        held = self._leases.get(holding.request_id)
        return held is not None and held.attempt == holding.attempt

    def _after(self, duration_s: float) -> int:
        return int(self._now() * 1000) + round(duration_s * 1000)
