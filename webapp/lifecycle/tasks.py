"""The lifecycle's Celery tasks, thin entries into prepare, advance and settle, and its worker's start-up hooks."""

from __future__ import annotations

import logging
from dataclasses import replace
from threading import Thread
from typing import Any

import msgspec
from celery.signals import worker_init, worker_ready
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from inference.eventlog.entry import end_of
from inference.eventlog.event_log import Fenced, LogLost
from inference.protocol.events import Frame
from inference.protocol.failures import Failure
from webapp.celery import app
from webapp.lifecycle import watchdog
from webapp.lifecycle.advance import agent_ended, report
from webapp.lifecycle.dispatch import queue_generation
from webapp.lifecycle.fork_preparation import ForkPreparation
from webapp.lifecycle.plain_preparation import PlainPreparation
from webapp.lifecycle.prepare import Preparation, Prepared
from webapp.lifecycle.rerun_preparation import RerunPreparation
from webapp.lifecycle.settle import end, settle
from webapp.lifecycle.stop import stop_agents
from webapp.lifecycle.tool_calls import run_calls
from webapp.models.registry.offered import enabled
from webapp.requests import services
from webapp.requests.failure import CannotPrepare
from webapp.requests.input import ForkInput, MessagesInput, NoInput, PlainInput, SavedInput
from webapp.requests.models import Request
from webapp.usage.alerts import watch as alerts

logger = logging.getLogger(__name__)

_NO_QUEUE = Failure("generation", "queue_unavailable", "The server's queue could not be reached. Send it again.")


@worker_init.connect
def _warm(**_: Any) -> None:
    """Load tokenizers and classifier before the first request, which would wait for them."""
    try:
        for model in enabled():
            services.prompt_services(model.pk)
        services.guard().check("Hello there.", "input")
    except Exception:
        logger.exception("a tokenizer or the safety classifier could not be loaded")


@worker_ready.connect
def _start_watch(**_: Any) -> None:
    Thread(target=watchdog.keep_watch, name="watch", daemon=True).start()
    Thread(target=alerts.keep_watch, name="alerts", daemon=True).start()


@app.task(name="lifecycle.prepare")
def prepare(request_id: str) -> None:
    """Prepare a request and queue its generation, or settle it as failed; a second delivery does nothing."""
    try:
        # `first` would take twice as long, between Send and the answer.
        request = Request.objects.get(pk=request_id, finished_at=None)
    except Request.DoesNotExist:
        return
    frames = services.event_log().read(request_id)
    if len(frames) != 1:  # more than the gateway's frame: prepared before, or stopped
        logger.warning("gave up preparing %s: its log has %d frames", request_id, len(frames))
        return
    try:
        _hand_on(request, _prepared(request), frames[0])
    except (Fenced, LogLost) as error:
        logger.warning("gave up preparing %s: %s", request_id, error)


def _prepared(request: Request) -> Prepared:
    try:
        return _preparation(request).run()
    except CannotPrepare as error:
        return Prepared([], error.failure)
    except Exception:
        logger.exception("preparing %s failed", request.pk)
        message = "Preparing the request failed; the server's log has the details."
        return Prepared([], Failure("context", "internal", message))


def _preparation(request: Request) -> Preparation | ForkPreparation:
    match request.input:
        case MessagesInput() as source:
            return Preparation(request, source)
        case ForkInput() as source:
            return ForkPreparation(request, source)
        case SavedInput() as source:
            return RerunPreparation(request, source)
        case PlainInput() as source:
            return PlainPreparation(request, source)
        case NoInput():
            raise ValueError(f"{request.pk} has no input")


def _hand_on(request: Request, prepared: Prepared, before: Frame) -> None:
    """Queue the generation, or settle the failure. before: the log's one frame before the preparation.

    Raises Fenced when another delivery was quicker, LogLost.
    """
    if prepared.failure is not None:
        log = services.event_log()
        if prepared.events:
            log.append(request.pk, prepared.events, request.attempt, end_of([before]), is_next=True)
        elif log.mark(request.pk) != end_of([before]):
            raise Fenced(f"{request.pk} was prepared meanwhile")
        settle(request.pk, prepared.failure)
        return
    try:
        queue_generation(request, [*before.events, *prepared.events], end_of([before]))
    except CannotPrepare as error:
        _hand_on(request, replace(prepared, failure=error.failure), before)
    except (OperationalError, RedisError, OSError):
        settle(request.pk, _NO_QUEUE)


@app.task(name="lifecycle.advance", autoretry_for=(Exception,), retry_backoff=1, max_retries=8)
def advance_task(request_id: str, failure: dict[str, str] | None = None, attempt: int | None = None) -> None:
    """Carry on a request whose generation is over. failure: why the attempt failed. attempt: as in `report`."""
    report(request_id, msgspec.convert(failure, Failure) if failure else None, attempt)


@app.task(name="lifecycle.call")
def call(request_id: str, attempt: int) -> None:
    """Run the calls that an answer made of the server's tools, and ask the model again."""
    try:
        run_calls(request_id, attempt)
    except (Fenced, LogLost) as error:
        logger.warning("gave up the calls of %s: %s", request_id, error)


@app.task(name="lifecycle.agent_ended", autoretry_for=(Exception,), retry_backoff=1, max_retries=8)
def agent_ended_task(request_id: str) -> None:
    """Carry on a request one of whose agents has ended."""
    agent_ended(request_id)


@app.task(name="lifecycle.stop_agents", autoretry_for=(Exception,), retry_backoff=1, max_retries=8)
def stop_agents_task(request_id: str) -> None:
    """Stop the open agents of a request that has ended."""
    stop_agents(request_id)


@app.task(name="lifecycle.end", autoretry_for=(Exception,), retry_backoff=1, max_retries=8)
def end_task(request_id: str, failure: dict[str, str]) -> None:
    """End the request as failed, and fence its log against a worker that still works on it."""
    end(request_id, msgspec.convert(failure, Failure))
