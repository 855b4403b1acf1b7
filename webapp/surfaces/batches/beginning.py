"""Begins the lines of a batch: while no other request is open, and few at once. Each begins once.

A line is open from the transaction that saves its requests. If the process dies after it, the watchdog goes on.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from django.db import DatabaseError
from django.utils import timezone
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from inference.eventlog.clock import unix_us
from webapp.ground.gateway.errors import ApiError
from webapp.lifecycle.start import Arrival, QueueUnavailable, sent_call
from webapp.requests.models import Request
from webapp.requests.workers import ready_workers
from webapp.surfaces.batches.answering import Answering
from webapp.surfaces.batches.batches import nudge
from webapp.surfaces.batches.form import Embedding, form_of, passes_in_s
from webapp.surfaces.batches.models import Batch, Line
from webapp.surfaces.calls.call import begin

logger = logging.getLogger(__name__)

MAX_OF_ONE = 2
"""Open requests of one user's batches. A line of more answers begins while the user has none open."""
MAX_OPEN = 4
"""Open requests of all batches. A live message that comes meanwhile shares the engine with no more."""
TURN_S = 2.0
"""Time after which one batch lets the other work of its process have a turn."""
_WAIT_S = 5
"""Time until a batch that had to wait is looked at again."""
_COMPUTING_S = 60
"""Time after which a line that a process computes is looked at again, as that process has ended."""


class _Waits(Exception):
    """The line does not begin now."""


def begin_lines(batch: Batch) -> None:
    """Begin as many lines as may run now."""
    if batch.status != Batch.Status.IN_PROGRESS or not batch.user.is_active or batch.resumes_at > timezone.now():
        return
    deadline = time.monotonic() + TURN_S
    while (line := batch.lines.filter(status=Line.Status.WAITING).first()) is not None:
        try:
            _begin_or_end(batch, line)
        except _Waits:
            return
        if time.monotonic() > deadline:
            nudge(batch.pk)
            return


def _begin_or_end(batch: Batch, line: Line) -> None:
    """Begin a line, or end one that is refused for good. Raises _Waits."""
    answering = Answering(batch)
    try:
        _begin(batch, line, answering)
    except _Waits:
        raise
    except (QueueUnavailable, OperationalError, RedisError, DatabaseError) as error:
        logger.warning("%s waits: %s", line, error)
        _pause(batch, _WAIT_S)
        raise _Waits from None
    except Exception as error:
        if wait_s := passes_in_s(form_of(batch.family), error):
            _pause(batch, wait_s)
            raise _Waits from None
        answering.error(line, error)


def _begin(batch: Batch, line: Line, answering: Answering) -> None:
    """Raises _Waits, and whatever refuses the call."""
    if not _has_room(batch, 1) or _is_busy(line.model):
        raise _Waits  # before the body is read again
    answering.check_room()
    work = form_of(batch.family).work(batch, line.body.encode(), batch.key)
    if isinstance(work, Embedding):
        _embed(batch, line, work, answering)
        return
    num_answers = len(work.call.params)
    if num_answers > MAX_OPEN:
        raise _too_many(num_answers)
    if not _has_room(batch, num_answers) or _is_busy(work.call.model) or not ready_workers(work.call.model):
        raise _Waits
    arrival = Arrival(
        unix_us(),
        form_of(batch.family).surface,
        api_key=batch.key,
        batch_id=batch.pk,
        sent=sent_call(batch.endpoint, line.body.encode()),
    )

    def save(requests: Sequence[Request]) -> None:
        _open(batch, line, requests)
        work.save(requests)

    begin(work.call, batch.user_id, arrival, None, "batches", save, lambda: _close(line))


def _too_many(num_answers: int) -> ApiError:
    asked = f"The line asks for {num_answers} answers; a line of a batch has {MAX_OPEN} at most. Make several lines."
    return ApiError(400, "too_many_answers", asked)


def _is_busy(model: str | None = None) -> bool:
    """Return whether requests of no batch are open. None: of any model."""
    others = Request.objects.filter(finished_at=None, batch_id=None)
    return (others if model is None else others.filter(model=model)).exists()


def _has_room(batch: Batch, num_new: int, but: Sequence[str] = ()) -> bool:
    """Return whether so many answers of a line may be open beside those of all batches. but: ids of its own."""
    users = Request.objects.filter(finished_at=None, batch_id__isnull=False).exclude(pk__in=but)
    num_open = Counter(users.values_list("user_id", flat=True))
    num_own = num_open[batch.user_id]
    return num_open.total() + num_new <= MAX_OPEN and (num_own == 0 or num_own + num_new <= MAX_OF_ONE)


def _open(batch: Batch, line: Line, requests: Sequence[Request]) -> None:
    """Give the line its requests, in the transaction that saves them and has the user's lock. Raises _Waits."""
    going = Batch.objects.filter(pk=batch.pk, status=Batch.Status.IN_PROGRESS)
    waiting = Line.objects.filter(pk=line.pk, status=Line.Status.WAITING)
    ids = [request.pk for request in requests]
    if not _has_room(batch, len(ids), but=ids) or not going.exists():
        raise _Waits
    if not waiting.update(status=Line.Status.OPEN, request_ids=ids, num_tries=line.num_tries + 1):
        raise _Waits  # another process began it


def _close(line: Line) -> None:
    """Undo `_open`. A line that has another try since, or has ended, stays as it is."""
    opened = Line.objects.filter(pk=line.pk, status=Line.Status.OPEN, num_tries=line.num_tries + 1)
    opened.update(status=Line.Status.WAITING, request_ids=[], num_tries=line.num_tries)


def _embed(batch: Batch, line: Line, work: Embedding, answering: Answering) -> None:
    if _is_busy():
        raise _Waits
    with _alone(batch):
        answering.embed(line, work)


@contextmanager
def _alone(batch: Batch) -> Iterator[None]:
    """Keep other processes from the batch meanwhile. Raises _Waits where one has it."""
    until, own = timezone.now() + timedelta(seconds=_COMPUTING_S), Batch.objects.filter(pk=batch.pk)
    if not own.filter(resumes_at=batch.resumes_at).update(resumes_at=until):
        raise _Waits
    try:
        yield
    finally:
        batch.resumes_at = timezone.now()
        own.update(resumes_at=batch.resumes_at)


def _pause(batch: Batch, wait_s: int) -> None:
    batch.resumes_at = timezone.now() + timedelta(seconds=wait_s)
    batch.save(update_fields=["resumes_at"])
