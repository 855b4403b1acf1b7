"""Bills work that leaves no request and no trace: embeddings. Knows nothing of how it is computed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db import transaction

from inference.protocol.request import Usage
from webapp.billing.bill import post_bill
from webapp.identifiers import new_request_id
from webapp.keys.models import ApiKey
from webapp.lifecycle.settle import cost_of
from webapp.requests.models import Request
from webapp.requests.outcome import Outcome, fold
from webapp.usage.record import Cost, record_use


@dataclass(frozen=True)
class Done:
    """Work that is done."""

    user_id: int
    key: ApiKey | None
    surface: str
    model: str
    num_tokens: int
    """Tokens that were read; none was written."""
    accepted_unix_us: int
    duration_us: int
    batch_id: str | None = None
    """The batch of which it answers a line: it costs less then."""


@dataclass(frozen=True)
class Billed:
    """A bill that is posted."""

    request_id: str
    """The id under which bill and record of use stand."""
    cost: Cost


def bill_work(done: Done) -> Billed:
    """Post the bill and the record of use, which the sums count."""
    request = Request(
        id=new_request_id(),
        user_id=done.user_id,
        key=done.key,
        surface=done.surface,
        model=done.model,
        status=Request.Status.DONE,
        finish_reason="stop",
        accepted_unix_us=done.accepted_unix_us,
    )
    usage = Usage(uncached_input=done.num_tokens)
    with transaction.atomic():
        entry = post_bill(request.pk, done.user_id, done.model, usage, done.batch_id is not None)
        cost = cost_of(entry)
        record_use(request, _outcome(usage, done.duration_us), cost)
    return Billed(request.pk, cost)


def _outcome(usage: Usage, duration_us: int) -> Outcome:
    return replace(fold([]), usage=usage, duration_us=duration_us)
