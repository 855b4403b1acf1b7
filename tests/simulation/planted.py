"""Mistakes that the product does not make, each planted by a patch of what its packages show.

The simulation must find each of them. One that it does not find says that its faults or its checks are too weak.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import msgspec
import pytest

from inference.eventlog.leases import Holding
from inference.eventlog.memory import MemoryEventLog
from inference.eventlog.memory_leases import MemoryLeases
from inference.protocol.events import Frame
from inference.protocol.request import Usage
from inference.worker import generation
from inference.worker.lease_keeper import LeaseKeeper
from inference.worker.resumption import Resumption, resumption_of
from webapp.lifecycle import advance, settle
from webapp.lifecycle.watch import Watch
from webapp.requests.models import Request
from webapp.stream.hub import Hub

Plant = Callable[[pytest.MonkeyPatch], None]


def no_fence(patch: pytest.MonkeyPatch) -> None:
    """The log takes appends of every attempt."""
    append = MemoryEventLog.append

    def unfenced(log: MemoryEventLog, request_id: str, events: Any, attempt: int, *more: Any, **options: Any) -> int:
        return append(log, request_id, events, 0, *more, **options)

    patch.setattr(MemoryEventLog, "append", unfenced)
    patch.setattr(MemoryEventLog, "fence", lambda *_: None)


def no_claim(patch: pytest.MonkeyPatch) -> None:
    """A message that comes twice is run twice."""
    patch.setattr(MemoryEventLog, "claim", lambda *_: True)


def no_known(patch: pytest.MonkeyPatch) -> None:
    """The log does not compare its end with what its writer knows."""
    append = MemoryEventLog.append

    def unknowing(
        log: MemoryEventLog, request_id: str, events: Any, attempt: int, known: int = 0, is_next: bool = False
    ) -> int:
        return append(log, request_id, events, attempt, min(known, log.last_seq(request_id)), is_next)

    patch.setattr(MemoryEventLog, "append", unknowing)


def no_next(patch: pytest.MonkeyPatch) -> None:
    """An append does not ask whether the log has gone on."""
    append = MemoryEventLog.append

    def anywhere(
        log: MemoryEventLog, request_id: str, events: Any, attempt: int, known: int = 0, is_next: bool = False
    ) -> int:
        return append(log, request_id, events, attempt, known)

    patch.setattr(MemoryEventLog, "append", anywhere)


class _Unconditional:
    """Request.objects, whose updates do not ask for the attempt."""

    def __init__(self, takes: bool) -> None:
        """takes: False lets an update say that it was made, and makes none."""
        self._takes = takes

    def filter(self, **conditions: Any) -> Any:
        if "attempt" not in conditions:
            return Request.objects.filter(**conditions)
        del conditions["attempt"]
        return Request.objects.filter(**conditions) if self._takes else self

    def update(self, **_: Any) -> int:
        return 1


class _Requests:
    def __init__(self, takes: bool) -> None:
        self.objects = _Unconditional(takes)


def two_takers(patch: pytest.MonkeyPatch) -> None:
    """Every watchdog that sees an overdue request takes it over."""
    patch.setattr(MemoryLeases, "take", lambda *_: True)
    patch.setattr(advance, "Request", _Requests(takes=True))


def equal_attempts(patch: pytest.MonkeyPatch) -> None:
    """A take-over does not raise the row's attempt."""
    patch.setattr(advance, "Request", _Requests(takes=False))


class _Hasty:
    """django.db.transaction, whose hooks do not wait for the commit."""

    def __init__(self, transaction: Any) -> None:
        self.atomic = transaction.atomic

    def on_commit(self, act: Callable[[], None], robust: bool) -> None:
        act()


def settles_first(patch: pytest.MonkeyPatch) -> None:
    """The log has its end before the row is settled."""
    patch.setattr(settle, "transaction", _Hasty(settle.transaction))


def no_catch_up(patch: pytest.MonkeyPatch) -> None:
    """A settlement takes the events that it read before the fence for all."""
    read = MemoryEventLog.read

    def once(log: MemoryEventLog, request_id: str, after: int = 0) -> list[Frame]:
        return read(log, request_id, after) if not after else []

    patch.setattr(MemoryEventLog, "read", once)


def forgets_last_token(patch: pytest.MonkeyPatch) -> None:
    """A resumed answer begins one token too early."""

    def shorter(frames: list[Frame]) -> Resumption:
        found = resumption_of(frames)
        return Resumption(
            found.last_seq,
            found.tokens[:-1],
            found.text,
            found.lookup,
            found.num_withheld,
            found.is_finished,
        )

    patch.setattr(generation, "resumption_of", shorter)


def bills_resumed(patch: pytest.MonkeyPatch) -> None:
    """Tokens that an earlier attempt made are billed as input."""

    def billed(resumption: Resumption, usage: Usage, _num_input: int) -> Usage:
        return msgspec.structs.replace(usage, uncached_input=usage.uncached_input + len(resumption.tokens))

    patch.setattr(Resumption, "billed", billed)


def no_renewal(patch: pytest.MonkeyPatch) -> None:
    """A worker does not renew its leases."""
    patch.setattr(LeaseKeeper, "run", lambda _: None)


def stale_lease(patch: pytest.MonkeyPatch) -> None:
    """An attempt that was taken over from gets the lease, and renews it."""
    grant = MemoryLeases.grant

    def always(leases: MemoryLeases, request_id: str, attempt: int, duration_s: float) -> bool:
        if not grant(leases, request_id, attempt, duration_s):
            leases.end(request_id)
            grant(leases, request_id, attempt, duration_s)
        return True

    def renew(leases: MemoryLeases, holdings: Iterable[Holding], duration_s: float) -> int:
        return sum(always(leases, *holding, duration_s) for holding in holdings)

    patch.setattr(MemoryLeases, "grant", always)
    patch.setattr(MemoryLeases, "renew", renew)


def no_second_report(patch: pytest.MonkeyPatch) -> None:
    """A lost report is not sent again."""
    patch.setattr(advance.dispatch, "queue_report", lambda _: None)


def no_new_lease(patch: pytest.MonkeyPatch) -> None:
    """A request that Redis forgot gets no lease."""
    patch.setattr(Watch, "attend_all", lambda _: None)


def skips_a_frame(patch: pytest.MonkeyPatch) -> None:
    """A reader that follows a log misses one frame in forty."""
    entries = Hub.entries

    async def fewer(hub: Hub, request_id: str, after: int) -> AsyncIterator[Any]:
        async for entry in entries(hub, request_id, after):
            if entry.last_seq % 40:
                yield entry

    patch.setattr(Hub, "entries", fewer)


PLANTED: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (
        no_fence,
        no_claim,
        no_known,
        no_next,
        two_takers,
        equal_attempts,
        settles_first,
        no_catch_up,
        forgets_last_token,
        bills_resumed,
        no_renewal,
        stale_lease,
        no_second_report,
        no_new_lease,
        skips_a_frame,
    )
}
