"""Advances a set. A few runs are open at a time; the next begins when one is settled; lost runs start again.

All state is in the database: any process may advance a set, at any time and after any crash.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta

import msgspec
from django.db import DatabaseError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from redis.exceptions import RedisError

from inference.eventlog.clock import unix_us
from inference.protocol.request import SamplingParams
from webapp.identity.accounts.roles import is_views_only
from webapp.lifecycle.admission import Limits, admit_some, lock_user, num_free, num_free_places
from webapp.lifecycle.refusals import note_refused
from webapp.lifecycle.start import Arrival, QueueUnavailable, start, take_back
from webapp.lifecycle.stop import stop as stop_request
from webapp.models.registry.offered import is_offered
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.workers import ready_workers
from webapp.surfaces.runs.models import Rerun, Run
from webapp.usage.limits.charge import Charge, charges_of
from webapp.usage.limits.refusal import Refused
from webapp.usage.limits.rules import check_working, effective_of
from webapp.usage.limits.taking import levels_of, take_rates

logger = logging.getLogger(__name__)

MAX_AT_ONCE = 4
"""Open runs of one user over all sets: half of MAX_IN_FLIGHT, the other half stays for chatting."""
MAX_TRIES = 3
_LOST = ("no_worker", "worker_lost", "service_stopped", "overloaded")
"""Failures that the request did not cause: it runs again."""
_RETRY_AFTER = timedelta(seconds=10)
"""The heartbeat's expiry: until then a dead worker still looks ready, and a new try would be lost too."""


def unfinished() -> QuerySet[Rerun]:
    """Sets that still have runs to start."""
    waiting = Run.objects.filter(request=None) | _lost(Run.objects.all())
    return Rerun.objects.filter(stopped_at=None, pk__in=waiting.values("rerun_id"))


def advance(rerun_ids: Iterable[str]) -> None:
    """Start the runs that may start. An exception in one set does not affect the next."""
    for rerun_id in rerun_ids:
        try:
            if _may_begin(rerun_id):
                _begin(rerun_id)
        except Exception:
            logger.exception("%s could not be looked at", rerun_id)


def _may_begin(rerun_id: str) -> bool:
    """Check for room without the lock: most sets wait for room most of the time.

    A set waits too while its model is not offered or has no ready worker, so that it outlives the worker.
    """
    rerun = _going(rerun_id).only("user_id", "key_id", "model").first()
    if rerun is None:
        return False
    if min(num_free(rerun.user_id, rerun.model, rerun.key_id), MAX_AT_ONCE - _num_open(rerun)) <= 0:
        return is_views_only(rerun.user_id)  # its end is due
    if any(limit.remaining == 0 for limit in levels_of(rerun.user_id, rerun.model, rerun.key_id)):
        return False
    if not is_offered(rerun.model) or not ready_workers(rerun.model) or num_free_places(rerun.model) == 0:
        return False
    return rerun.runs.filter(request=None).exists() or _lost_long_ago(rerun).exists()


def _going(rerun_id: str) -> QuerySet[Rerun]:
    """The set, unless it is stopped or its user's account is closed."""
    return Rerun.objects.filter(pk=rerun_id, stopped_at=None, user__is_active=True)


def _begin(rerun_id: str) -> None:
    try:
        refusals = [_start(*claimed) for claimed in _claim(rerun_id)]
    except Refused as refused:
        refusals = [refused]
    final = next(filter(None, refusals), None)
    if final is not None:
        _end(rerun_id, final)


def _end(rerun_id: str, refused: Refused) -> None:
    """End the set whose next run no wait would let begin, and keep the refusal."""
    rerun = Rerun.objects.select_related("key").defer("input").get(pk=rerun_id)
    if stop(rerun, str(refused)):
        run = Request(user_id=rerun.user_id, key=rerun.key, surface="replay", model=rerun.model)
        note_refused([run], refused)


@transaction.atomic
def _claim(rerun_id: str) -> list[tuple[Run, Charge, Limits]]:
    """Give the next runs their requests, under the user's lock. Raises Refused where the first can never begin."""
    user_id = Rerun.objects.filter(pk=rerun_id).values_list("user_id", flat=True).first()
    if user_id is None:
        return []
    lock_user(user_id)
    rerun = _going(rerun_id).first()  # the set may have been stopped before the lock
    if rerun is None or not effective_of(user_id).may_rerun:
        return []
    check_working(user_id)
    _lost_long_ago(rerun).update(request=None)
    runs = list(rerun.runs.filter(request=None)[: max(0, MAX_AT_ONCE - _num_open(rerun))])
    requests = [_request(rerun, run) for run in runs]
    charges = charges_of(requests, [_params(run) for run in runs]) if runs else []
    limits = admit_some(requests, charges)
    begun = list(zip(runs, charges, limits, strict=False))
    for (run, _, _), request in zip(begun, requests, strict=False):
        request.save(force_insert=True)
        run.request = request
        run.num_tries += 1
        run.save(update_fields=["request", "num_tries"])
    return begun


def _num_open(rerun: Rerun) -> int:
    """Open runs of all the user's sets."""
    runs = Run.objects.filter(rerun__user_id=rerun.user_id, request__finished_at=None)
    return runs.exclude(request=None).count()


def _lost_long_ago(rerun: Rerun) -> QuerySet[Run]:
    return _lost(rerun.runs.filter(request__finished_at__lt=timezone.now() - _RETRY_AFTER))


def _lost(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.filter(request__error_code__in=_LOST, num_tries__lt=MAX_TRIES)


def will_run_again(rerun: Rerun, run: Run) -> bool:
    """True if a failed run gets another request."""
    is_lost = run.request is not None and run.request.error_code in _LOST
    return is_lost and run.num_tries < MAX_TRIES and rerun.stopped_at is None


def _request(rerun: Rerun, run: Run) -> Request:
    return Request(
        user_id=rerun.user_id,
        key_id=rerun.key_id,
        surface="replay",
        model=rerun.model,
        title=rerun.title,
        input=rerun.input,
        params=run.params,
        accepted_unix_us=unix_us(),
    )


def _params(run: Run) -> SamplingParams:
    return msgspec.convert(run.params, SamplingParams)


def _start(run: Run, charge: Charge, limits: Limits) -> Refused | None:
    """Start a claimed run. If the process dies before this, the watchdog fails the open request and it runs again.

    Returns the refusal of a run that can never begin.
    """
    request = run.request
    assert request is not None
    arrival = Arrival(received_unix_us=request.accepted_unix_us, surface=request.surface)
    try:
        (rates,) = take_rates([request], [charge])
        start(request, _params(run), arrival, (*limits, *rates), replay_of=run.rerun.original_id)
    except (QueueUnavailable, Refused, RedisError, DatabaseError) as error:
        logger.warning("%s waits on: %s", run, error)
        Run.objects.filter(pk=run.pk).update(request=None, num_tries=run.num_tries - 1)
        take_back(request)
        return error if isinstance(error, Refused) and error.can_never_pass else None
    if Rerun.objects.filter(pk=run.rerun_id, stopped_at__isnull=False).exists():
        stop_request(request)
    return None


def stop_all(user_id: int) -> int:
    """Stop all sets of the user that still have runs to start; return their number. Raises RedisError."""
    sets = list(unfinished().filter(user_id=user_id))
    for rerun in sets:
        stop(rerun)
    return len(sets)


def stop(rerun: Rerun, reason: str = "") -> bool:
    """Stop the set: no further run begins, and the open ones are stopped. False: it was stopped before.

    reason: a refusal's words. Raises RedisError.
    """
    with transaction.atomic():
        lock_user(rerun.user_id)
        going = Rerun.objects.filter(pk=rerun.pk, stopped_at=None)
        is_stopped = bool(going.update(stopped_at=timezone.now(), stop_reason=reason))
    for run in rerun.runs.filter(request__finished_at=None).exclude(request=None).select_related("request"):
        # If a run's log has not begun, the process that is about to begin it stops the run.
        if run.request is not None and services.event_log().last_seq(run.request.pk):
            stop_request(run.request)
    return is_stopped
