"""Begins requests together: admits them, saves them, starts them, or takes all back. Knows nothing of their purpose."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from django.db import transaction

from inference.protocol.request import SamplingParams
from webapp.lifecycle.admission import Limits, admit, check_places
from webapp.lifecycle.refusals import note_refused, record_refusals
from webapp.lifecycle.start import Arrival, start, take_back
from webapp.models.registry.offered import check_offered
from webapp.requests.delivery import Key, claim, forget
from webapp.requests.models import Request
from webapp.usage.limits.charge import Charge, charges_of
from webapp.usage.limits.refusal import Refused
from webapp.usage.limits.taking import give_back, take_rates

logger = logging.getLogger(__name__)


def begin(
    requests: Sequence[Request],
    params: Sequence[SamplingParams],
    arrival: Arrival,
    key: Key | None = None,
    ids: Sequence[str] = (),
    save: Callable[[], None] = lambda: None,
    undo: Callable[[], None] = lambda: None,
) -> list[Limits]:
    """Begin requests of one user and one model; return the state of the limits before each.

    Raises NotOffered, Refused, QueueUnavailable, RedisError.

    ids: of the rows that the key stands for; without them the requests' own. save: saves other rows, in the
    transaction that saves the requests. undo: deletes them again, in the one that takes the requests back.
    """
    model = requests[0].model
    ids = list(ids) or [request.pk for request in requests]
    check_offered(model)
    charges = charges_of(requests, params)
    try:
        check_places(model, len(requests))
        rates = take_rates(requests, charges)
        counted = _save(requests, charges, arrival, lambda: claim(key, ids), save)
    except Refused as refused:
        if arrival.batch_id is None or not refused.is_passing:  # a batch tries again
            note_refused(requests, refused)
        raise
    limits = [(*own, *each) for own, each in zip(counted, rates, strict=True)]
    try:
        for request, each, limit in zip(requests, params, limits, strict=True):
            start(request, each, arrival, limit)
    except Exception:
        logger.exception("%s could not be started", ", ".join(request.pk for request in requests))
        _take_back(requests, ids[0], undo)
        if arrival.batch_id is None:
            record_refusals(requests, "queue_unavailable")
        raise
    return limits


def _save(
    requests: Sequence[Request],
    charges: Sequence[Charge],
    arrival: Arrival,
    claim_key: Callable[[], None],
    save: Callable[[], None],
) -> list[Limits]:
    """Admit and save requests in one transaction; where it fails, give back what they took from the rates."""
    try:
        with transaction.atomic():
            claim_key()
            limits = admit(requests, charges, arrival.is_stepped)
            Request.objects.bulk_create(requests)
            save()
    except BaseException:
        give_back(request.pk for request in requests)
        raise
    return limits


def _take_back(requests: Sequence[Request], first_id: str, undo: Callable[[], None]) -> None:
    with transaction.atomic():
        forget(first_id)
        undo()
        Request.objects.filter(pk__in=[request.pk for request in requests]).delete()
    for request in requests:
        take_back(request)
