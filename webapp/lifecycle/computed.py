"""Requests that this process computes at once, as an embedding: admitted, then saved whole with trace and bill.

There is no row before the end, so nothing carries such a request on. Knows nothing of how it is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from django.db import transaction
from redis.exceptions import RedisError

from inference.eventlog.clock import RequestClock
from inference.protocol.events import AnyEvent, Frame, RequestFailed, RequestFinished
from inference.protocol.failures import Failure
from inference.protocol.request import SamplingParams
from webapp.lifecycle.admission import Limits, admit_at_once, hold_at_once
from webapp.lifecycle.refusals import note_refused
from webapp.lifecycle.settle import cost_of, record
from webapp.lifecycle.start import Arrival, opening
from webapp.models.billing.bill import bill_event, post_bill
from webapp.models.billing.models import LedgerEntry
from webapp.requests.models import Request
from webapp.requests.outcome import Outcome, fold
from webapp.requests.signals import settled
from webapp.traces import store
from webapp.usage.limits.budget import promise_to, release
from webapp.usage.limits.charge import Charge
from webapp.usage.limits.refusal import Refused
from webapp.usage.limits.taking import correct, give_back
from webapp.usage.record import record_use


def admit_computed(request: Request, num_tokens: int, arrival: Arrival) -> tuple[list[AnyEvent], Limits]:
    """Admit a request of about so many tokens; return its first events, and the limits before it.

    Raises Refused, RedisError.
    """
    try:
        limits = admit_at_once(request, _charge(request, num_tokens))
    except Refused as refused:
        if request.batch_id is None or not refused.is_passing:  # a batch tries again
            note_refused([request], refused)
        raise
    return opening(request, SamplingParams(max_tokens=0), arrival, limits), limits


def reserve_computed(request: Request, num_tokens: int) -> None:
    """Reserve the cost of an admitted request, before it is computed. Raises Refused."""
    hold_at_once(request, _charge(request, num_tokens))


def give_back_computed(request: Request) -> None:
    """Undo what an admitted request took, which is to be made again later."""
    release(request.pk)
    give_back([request.pk])


def settle_computed(
    request: Request,
    events: Sequence[AnyEvent],
    failure: Failure | None = None,
    save: Callable[[], None] = lambda: None,
) -> list[AnyEvent]:
    """Save a request with its bill, its trace and its use in one transaction, which ends its reservation.

    Return all its events. save: saves other rows in the same transaction.
    """
    with transaction.atomic():
        entry = _post(request, fold(_frames(events))) if failure is None else None
        release(request.pk)
        complete = [*events, *_last(request, fold(_frames(events)), entry, failure)]
        outcome = fold(_frames(complete))
        record(request, outcome)
        request.save(force_insert=True)
        store.save(request, _frames(complete))
        save()
        # Last: from here on other settlements of the same hour wait for this one to commit.
        record_use(request, outcome, cost_of(entry))
        transaction.on_commit(lambda: _correct(request.pk), robust=True)
        transaction.on_commit(lambda: settled.send_robust(Request, request=request), robust=True)
    return complete


def _charge(request: Request, num_tokens: int) -> Charge:
    return Charge(num_tokens, num_tokens, 0, request.batch_id is not None, "embeddings")


def _post(request: Request, outcome: Outcome) -> LedgerEntry:
    is_batch = request.batch_id is not None
    return post_bill(request.pk, request.user_id, request.model, outcome.usage, is_batch, promise_to(request))


def _last(request: Request, outcome: Outcome, entry: LedgerEntry | None, failure: Failure | None) -> list[AnyEvent]:
    clock = RequestClock(request.accepted_unix_us)
    if failure is not None:
        return [RequestFailed(at=clock.at(), stage=failure.stage, code=failure.code, message=failure.message)]
    bill = [] if entry is None else [bill_event(entry, clock.at())]
    return [*bill, RequestFinished(at=clock.at(), finish_reason="stop", usage=outcome.usage)]


def _frames(events: Sequence[AnyEvent]) -> list[Frame]:
    return [Frame(seq=1, events=tuple(events))]


def _correct(request_id: str) -> None:
    """Replace the estimate that the rates hold. Without Redis they fill by themselves."""
    with suppress(RedisError):
        correct(request_id)
