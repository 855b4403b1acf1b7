"""The worker's Celery app and its one task. Knows nothing of how a generation runs.

A worker takes messages from two queues: its own, and its model's, which all workers of this model share. It takes none
before its model is loaded, none while it drains, and no more at once than it has threads.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from typing import Any

import msgspec
from celery import Celery, bootsteps
from celery.signals import worker_init, worker_shutdown, worker_shutting_down
from celery.worker import state
from redis.exceptions import RedisError

from inference.backends.backend import AlreadyRunning
from inference.eventlog.event_log import Fenced, LogLost
from inference.eventlog.keys import worker_queue
from inference.eventlog.leases import Holding
from inference.eventlog.pictures import PictureGone
from inference.logs.request import name_request
from inference.protocol.codec import decode_generation
from inference.protocol.failures import Failure, GrammarError
from inference.protocol.preparing import prepare_structs
from inference.protocol.request import GenerationRequest
from inference.queue.app import make_app, set_up_log, set_up_worker
from inference.worker.generation import Generation, Interrupted
from inference.worker.host import Host, new_name
from inference.worker.settings import read_settings

logger = logging.getLogger(__name__)


_READY_CHECK_S = 0.2
"""Interval at which a worker that loads its model looks for a signal to stop."""


class InferenceApp(Celery):
    """A Celery app that owns the worker's model; only a worker process starts loading it."""

    host: Host | None = None


_name = new_name()
app = make_app(InferenceApp, "inference", read_settings().redis_url, worker_queue(_name), takes_ahead=False)
set_up_log(read_settings().log_format)


@worker_init.connect
def _start_host(**_: Any) -> None:
    prepare_structs()
    app.host = Host(_name, read_settings())


class TakesWhenReady(bootsteps.StartStopStep):
    """Waits for the model before the worker's loop, which takes the messages."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def start(self, parent: Any) -> None:
        """parent: Celery's consumer."""
        assert app.host is not None
        while not app.host.is_ready(timeout_s=_READY_CHECK_S):
            state.maybe_shutdown()
        _take_only_when(lambda: app.host is not None and app.host.is_taking, parent.task_consumer.channel.qos)
        parent.add_task_queue(app.host.model_queue)
        app.host.serve(parent.controller.concurrency)


def _take_only_when(is_taking: Callable[[], bool], qos: Any) -> None:
    """Add a condition to those under which kombu takes messages."""
    can_consume = qos.can_consume
    qos.can_consume = lambda: is_taking() and can_consume()


app.steps["consumer"].add(TakesWhenReady)


@worker_shutting_down.connect
def _drain_host(**_: Any) -> None:
    if app.host is not None:
        app.host.drain()


@worker_shutdown.connect
def _stop_host(**_: Any) -> None:
    if app.host is not None:
        app.host.stop()


set_up_worker()  # last: it ends the process at the worker's shutdown


@app.task(name="inference.generate")
def generate(payload: str) -> None:
    """Run one GenerationRequest, as JSON, and report that it is over. A second delivery does nothing."""
    assert app.host is not None
    request = decode_generation(payload)
    name_request(request.request_id)
    arrived_ns = time.monotonic_ns()
    claim = secrets.token_hex(8)
    try:
        if not app.host.log.claim(request.request_id, request.attempt, claim):
            logger.warning("gave up %s: it was delivered before", request.request_id)
            return
        with app.host.leases.held(Holding(request.request_id, request.attempt)):
            _run(app.host, request, arrived_ns, claim)
    except Interrupted as error:
        logger.warning("hands over %s: %s", request.request_id, error)
    except (Fenced, AlreadyRunning, LogLost, RedisError) as error:
        # Its lease runs out: the watchdog decides from the log how the request goes on.
        logger.warning("gave up %s: %s", request.request_id, error)


def _run(host: Host, request: GenerationRequest, arrived_ns: int, claim: str) -> None:
    request_id = request.request_id
    failure: Failure | None
    try:
        failure = Generation(host.services(), request, arrived_ns, claim=claim).run()
    except (Interrupted, Fenced, AlreadyRunning, LogLost, RedisError):
        raise
    except GrammarError as error:
        failure = Failure("generation", error.code, f"The answer cannot keep to its form: {error}")
    except PictureGone as error:
        failure = Failure("generation", "unsupported", str(error))
    except Exception:
        logger.exception("generation of %s failed", request_id)
        failure = Failure("generation", "internal", "The inference worker failed; its log has the details.")
    kwargs = {"attempt": request.attempt} | ({"failure": msgspec.to_builtins(failure)} if failure else {})
    app.send_task("lifecycle.advance", args=[request_id], kwargs=kwargs, queue="settle")
