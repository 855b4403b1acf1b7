"""The worker's Celery app and its one task. Knows nothing of how a generation runs."""

from __future__ import annotations

import logging
import secrets
import time
from typing import Any

import msgspec
from celery import Celery
from celery.signals import worker_init, worker_shutting_down
from redis.exceptions import RedisError

from inference.backends.backend import AlreadyRunning
from inference.eventlog.event_log import Fenced, LogLost
from inference.eventlog.leases import Holding
from inference.logs.request import name_request
from inference.protocol.codec import decode_generation
from inference.protocol.failures import Failure, GrammarError
from inference.protocol.request import GenerationRequest
from inference.queue.app import make_app, set_up_log, set_up_worker
from inference.worker.generation import Generation, Interrupted
from inference.worker.host import Host, ModelUnavailable
from inference.worker.settings import read_settings

logger = logging.getLogger(__name__)


class InferenceApp(Celery):
    """A Celery app that owns the worker's model; only a worker process starts loading it."""

    host: Host | None = None


app = make_app(InferenceApp, "inference", read_settings().redis_url, "generate", num_taken_ahead=1)
set_up_log(read_settings().log_format)
set_up_worker()


@worker_init.connect
def _start_host(**_: Any) -> None:
    app.host = Host(read_settings())


@worker_shutting_down.connect
def _stop_host(**_: Any) -> None:
    if app.host is not None:
        app.host.stop()


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
    except ModelUnavailable as error:
        failure = Failure("generation", "model_unavailable", f"The model could not be loaded: {error}")
    except Exception:
        logger.exception("generation of %s failed", request_id)
        failure = Failure("generation", "internal", "The inference worker failed; its log has the details.")
    kwargs = {"failure": msgspec.to_builtins(failure), "attempt": request.attempt} if failure else {}
    app.send_task("lifecycle.advance", args=[request_id], kwargs=kwargs, queue="settle")
