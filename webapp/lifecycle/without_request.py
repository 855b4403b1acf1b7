"""Admits and bills work that leaves no request and no trace: embeddings, and the counting of a prompt.

Its request is a plain value that is never saved. Knows nothing of how the work is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from django.db import transaction
from redis.exceptions import RedisError

from inference.protocol.request import Usage
from webapp.billing.bill import post_bill
from webapp.lifecycle.admission import admit_without_row
from webapp.lifecycle.refusing import note_call, note_refused
from webapp.lifecycle.settle import cost_of
from webapp.limits.refusal import Refused
from webapp.limits.taking import correct_to
from webapp.requests.models import Request
from webapp.requests.outcome import Outcome, fold
from webapp.usage.record import record_use


@dataclass(frozen=True)
class Done:
    """Work that is done."""

    call: Request
    """Has the owner, key, surface, model and batch. It is not saved."""
    num_tokens: int
    """Tokens that were read; none was written."""
    duration_us: int


def admit_work(call: Request, num_tokens: int) -> None:
    """Take the work's shares from the rates. `bill_work` or `fail_work` ends it. Raises Refused, RedisError."""
    try:
        admit_without_row(call, num_tokens)
    except Refused as refused:
        if call.batch_id is None or not refused.is_passing:  # a batch tries again
            note_refused([call], refused)
        raise


@contextmanager
def admitted_question(call: Request) -> Iterator[None]:
    """Take one request from the rates for a call that has no bill. Raises Refused, RedisError."""
    try:
        admit_without_row(call, 0)
    except Refused as refused:
        note_call([call], refused)
        raise
    try:
        yield
    finally:
        fail_work(call)  # it used no tokens


def bill_work(done: Done) -> None:
    """Post the bill and the record of use, and correct the work's shares once both are saved."""
    call, usage = done.call, Usage(uncached_input=done.num_tokens)
    call.status, call.finish_reason = Request.Status.DONE, "stop"
    with transaction.atomic():
        entry = post_bill(call.pk, call.user_id, call.model, usage, call.batch_id is not None)
        record_use(call, _outcome(usage, done.duration_us), cost_of(entry))
        transaction.on_commit(lambda: _correct(call, usage))


def fail_work(call: Request) -> None:
    """Give back the tokens of work that failed. It still counts as a request, as one with a row does."""
    _correct(call, Usage())


def _correct(call: Request, usage: Usage) -> None:
    """Without Redis the buckets fill by themselves."""
    with suppress(RedisError):
        correct_to(call.pk, usage)


def _outcome(usage: Usage, duration_us: int) -> Outcome:
    return replace(fold([]), usage=usage, duration_us=duration_us)
