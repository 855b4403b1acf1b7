"""The lifecycle's Celery tasks, thin entries into prepare and settle, and what its worker does beside them."""

from __future__ import annotations

import logging
from threading import Thread
from typing import Any

from celery.signals import worker_init, worker_ready

from inference.eventlog.event_log import Fenced
from webapp.celery import app
from webapp.lifecycle import services, watch
from webapp.lifecycle.failure import Failure
from webapp.lifecycle.fork_preparation import ForkPreparation
from webapp.lifecycle.handover import AlreadyPrepared, Handover
from webapp.lifecycle.models import Request
from webapp.lifecycle.prepare import Preparation
from webapp.lifecycle.saved_preparation import SavedPreparation
from webapp.lifecycle.settle import settle

logger = logging.getLogger(__name__)


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
def prepare(request_id: str, num_ahead: int = 0) -> None:
    """Take an accepted request to the worker that was called for it, or settle it with the reason why not."""
    try:
        request = Request.objects.get(pk=request_id)  # first() takes twice as long, between Send and the answer
    except Request.DoesNotExist:  # deleted meanwhile; one that was given up has withdrawn itself
        services.event_log().withdraw(request_id)
        return
    if request.is_settled:
        return
    handover = Handover(request, num_ahead)
    try:
        failure = _prepare(request, handover)
    except AlreadyPrepared as error:
        logger.warning("gave up preparing %s: %s", request_id, error)
    except Fenced as error:
        logger.warning("gave up preparing %s: %s", request_id, error)
        services.event_log().withdraw(request_id)
    else:
        if failure is not None:
            settle(request_id, failure.as_json())


def _prepare(request: Request, handover: Handover) -> Failure | None:
    """Why it cannot be answered. Raises AlreadyPrepared, Fenced."""
    try:
        _preparation(request, handover).run()
    except (AlreadyPrepared, Fenced):
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
        watch.take_over(request)
        settle(request_id, failure)
