"""Mistakes that the product does not make, each planted by a patch of what its packages show.

The simulation must find each of them. One that it does not find says that its faults or its checks are too weak.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from inference.eventlog.entry import BEGINNING, Entry, Mark
from inference.eventlog.event_log import LogLost
from inference.eventlog.leases import Holding
from inference.eventlog.memory import MemoryEventLog
from inference.eventlog.memory_leases import MemoryLeases
from inference.protocol.events import Frame
from inference.protocol.request import Usage
from inference.worker import generation
from inference.worker.lease_keeper import LeaseKeeper
from inference.worker.resumption import Resumption, resumption_of
from webapp.lifecycle import advance, asking, attempts, dispatch, settle
from webapp.lifecycle.stream.hub import Hub
from webapp.lifecycle.watchdog import Watch
from webapp.requests import rounds
from webapp.requests.models import Request
from webapp.tools import catalog

Plant = Callable[[pytest.MonkeyPatch], None]


def _append_with(patch: pytest.MonkeyPatch, **changed: Callable[[Any], Any]) -> None:
    """Let each append to the log change some of its arguments."""
    append = MemoryEventLog.append
    names = ("request_id", "events", "attempt", "known", "is_next", "claim")

    def other(log: MemoryEventLog, *given: Any, **named: Any) -> Entry:
        arguments = dict(zip(names, given, strict=False)) | named
        for name in changed.keys() & arguments.keys():
            arguments[name] = changed[name](arguments[name])
        return append(log, **arguments)

    patch.setattr(MemoryEventLog, "append", other)


def no_fence(patch: pytest.MonkeyPatch) -> None:
    """The log takes appends of every attempt."""
    _append_with(patch, attempt=lambda _: 0)
    patch.setattr(MemoryEventLog, "fence", lambda *_: None)


def no_claim(patch: pytest.MonkeyPatch) -> None:
    """A message that comes twice is run twice."""
    _append_with(patch, claim=lambda _: "")
    patch.setattr(MemoryEventLog, "claim", lambda *_: True)


def no_known(patch: pytest.MonkeyPatch) -> None:
    """The log does not compare its end with what its writer knows."""
    _append_with(patch, known=lambda _: BEGINNING, is_next=lambda _: False)


def no_next(patch: pytest.MonkeyPatch) -> None:
    """An append does not ask whether the log has gone on."""
    _append_with(patch, is_next=lambda _: False)


def no_digests(patch: pytest.MonkeyPatch) -> None:
    """Two logs with the same seq pass for the same one."""
    patch.setattr(Mark, "agrees_with", lambda *_: True)
    patch.setattr(Entry, "mark", property(lambda entry: Mark(entry.last_seq)))


def no_repair(patch: pytest.MonkeyPatch) -> None:
    """A worker goes on in a log that lost events."""
    append = MemoryEventLog.append

    def blind(log: MemoryEventLog, request_id: str, events: Any, attempt: int, *rest: Any, **named: Any) -> Entry:
        try:
            return append(log, request_id, events, attempt, *rest, **named)
        except LogLost:
            return append(log, request_id, events, attempt)

    patch.setattr(MemoryEventLog, "append", blind)


class _Unmoved:
    """Request, whose conditional updates say that they were made, and make none."""

    def __init__(self) -> None:
        self.objects = self

    def filter(self, **conditions: Any) -> Any:
        return self if "attempt" in conditions else Request.objects.filter(**conditions)

    def update(self, **_: Any) -> int:
        return 1


def equal_attempts(patch: pytest.MonkeyPatch) -> None:
    """A take-over does not raise the row's attempt."""
    patch.setattr(attempts, "Request", _Unmoved())


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
    entries = MemoryEventLog.entries

    def once(log: MemoryEventLog, request_id: str, after: int = 0) -> list[Entry]:
        return entries(log, request_id, after) if not after else []

    patch.setattr(MemoryEventLog, "entries", once)


def forgets_last_token(patch: pytest.MonkeyPatch) -> None:
    """A resumed answer begins one token too early."""

    def shorter(frames: list[Frame], number: int) -> Resumption:
        found = resumption_of(frames, number)
        return replace(found, tokens=found.tokens[:-1])

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

    def always(leases: MemoryLeases, request_id: str, attempt: int, duration_s: float, worker: Any = None) -> bool:
        if not grant(leases, request_id, attempt, duration_s, worker):
            leases.end(request_id)
            grant(leases, request_id, attempt, duration_s, worker)
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


def lease_before_rates(patch: pytest.MonkeyPatch) -> None:
    """The lease of a settled request ends before its rates are corrected."""

    def leave(request_id: str) -> None:
        settle.services.leases().end(request_id)
        settle.correct(request_id)

    patch.setattr(settle, "leave", leave)
    patch.setattr(advance, "leave", leave)


def skips_a_frame(patch: pytest.MonkeyPatch) -> None:
    """A reader that follows a log misses one frame in forty."""
    entries = Hub.entries

    async def fewer(hub: Hub, request_id: str, after: Mark) -> AsyncIterator[Any]:
        async for page in entries(hub, request_id, after):
            if kept := [entry for entry in page if entry.last_seq % 40]:
                yield kept

    patch.setattr(Hub, "entries", fewer)


def calls_again(patch: pytest.MonkeyPatch) -> None:
    """A call that a lost process may have run is run again, whatever its tool."""
    for name, tool in catalog.TOOLS.items():
        patch.setitem(catalog.TOOLS, name, replace(tool, is_repeatable=True))


def asks_nobody(patch: pytest.MonkeyPatch) -> None:
    """A call that changes something is run at once."""
    for name, tool in catalog.TOOLS.items():
        patch.setitem(catalog.TOOLS, name, replace(tool, needs_approval=False))
    patch.setattr(rounds, "unasked", lambda _: [])
    patch.setattr(asking, "unasked", lambda _: [])


def forgets_calls(patch: pytest.MonkeyPatch) -> None:
    """A lost run of calls is not made again."""
    patch.setattr(dispatch, "queue_calls", lambda _: None)


PLANTED: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (
        no_fence,
        no_claim,
        no_known,
        no_next,
        no_digests,
        no_repair,
        equal_attempts,
        settles_first,
        no_catch_up,
        forgets_last_token,
        bills_resumed,
        no_renewal,
        stale_lease,
        no_second_report,
        no_new_lease,
        lease_before_rates,
        skips_a_frame,
        calls_again,
        asks_nobody,
        forgets_calls,
    )
}
