"""The lifecycle's Celery tasks, thin entries into prepare and settle, and what its worker does beside them."""

from __future__ import annotations

import logging
from threading import Thread
from typing import Any

from celery.signals import worker_init, worker_ready

from inference.eventlog.clock import RequestClock
from inference.eventlog.event_log import Fenced
from webapp.celery import app
from webapp.lifecycle import watch
from webapp.lifecycle.fork_preparation import ForkPreparation
from webapp.lifecycle.handover import Handover, NotOurs
from webapp.lifecycle.prepare import Preparation
from webapp.lifecycle.saved_preparation import SavedPreparation
from webapp.lifecycle.settle import settle
from webapp.requests import services
from webapp.requests.failure import Failure
from webapp.requests.models import Request

logger = logging.getLogger(__name__)

_LONG_US = 5_000_000
_LATE_US = 250_000
"""After so long a request should have been accepted, and is not prepared in vain if it was refused."""


@worker_init.connect
def _warm(**_: Any) -> None:
    """Load tokenizer and classifier before the first request has to wait for them."""
    try:
        services.prompt_services()
        services.guard().check("Hello there.", "input")
    except Exception:
        logger.exception("the tokenizer or the safety classifier could not be loaded")


@worker_ready.connect
def _start_watch(**_: Any) -> None:
    Thread(target=watch.keep_watch, name="watch", daemon=True).start()


@app.task(name="lifecycle.prepare")
def prepare(request_id: str, num_ahead: int = 0, announced: dict[str, Any] | None = None) -> None:
    """Take a request to the worker that is called for it, or settle it with the reason why not.

    announced: what `handover.as_message` told of one that may not be saved yet; None: it is saved.
    """
    request = _saved(request_id) if announced is None or _was_accepted_long_ago(announced) else Request(**announced)
    if request is None:  # deleted meanwhile; one that was given up has withdrawn itself
        services.event_log().withdraw(request_id)
        return
    if request.is_settled:
        return
    handover = Handover(request, num_ahead)
    try:
        if RequestClock(request.accepted_unix_us).at() > _LATE_US:
            handover.ensure_claimed()
        failure = _prepare(request, handover)
    except NotOurs as error:
        logger.warning("gave up preparing %s: %s", request_id, error)
    except Fenced as error:
        logger.warning("gave up preparing %s: %s", request_id, error)
        services.event_log().withdraw(request_id)
    else:
        if failure is not None:
            settle(request_id, failure.as_json())


def _saved(request_id: str) -> Request | None:
    try:
        return Request.objects.get(pk=request_id)  # first() takes twice as long, between Send and the answer
    except Request.DoesNotExist:
        return None


def _was_accepted_long_ago(announced: dict[str, Any]) -> bool:
    """It waited for a lifecycle worker, and may have been deleted meanwhile, with all that it says."""
    is_long_ago = RequestClock(announced["accepted_unix_us"]).at() > _LONG_US
    return is_long_ago and services.event_log().last_seq(announced["id"]) > 0


def _prepare(request: Request, handover: Handover) -> Failure | None:
    """Why it cannot be answered. Raises NotOurs, Fenced."""
    try:
        _preparation(request, handover).run()
    except (NotOurs, Fenced):
        raise
    except Failure as failure:
        found = failure
    except Exception:
        logger.exception("preparing %s failed", request.pk)
        message = "Preparing the request failed; the server's log has the details."
        found = Failure("context", "internal", message)
    else:
        return None
    handover.ensure_claimed()
    return found


def _preparation(request: Request, handover: Handover) -> Preparation | ForkPreparation:
    if "saved" in request.input:
        return SavedPreparation(request, handover)
    return Preparation(request, handover) if request.fork_position is None else ForkPreparation(request, handover)


@app.task(name="lifecycle.settle", autoretry_for=(Exception,), retry_backoff=1, max_retries=8)
def settle_task(request_id: str, failure: dict[str, str] | None = None) -> None:
    settle(request_id, failure)


@app.task(name="lifecycle.end", autoretry_for=(Exception,), retry_backoff=1, max_retries=8)
def end_task(request_id: str, failure: dict[str, str]) -> None:
    """Whoever still works on the request hears that it is over."""
    request = Request.objects.filter(pk=request_id, finished_at=None).first()
    if request is not None:
        watch.end(request, failure)
