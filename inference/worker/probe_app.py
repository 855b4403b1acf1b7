"""The Celery app of probes, simulations and experiments: a process that never takes a core that serving needs.

Knows nothing of their methods. The first task imports what it needs, so that an idle process is small.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Any

import redis
from celery import Celery
from celery.signals import worker_init

from inference.eventlog.connections import connect
from inference.eventlog.keys import experiment_key, probe_key, simulation_key
from inference.logs.request import name_request
from inference.protocol.codec import (
    decode_experiment,
    decode_probe_request,
    decode_simulation_request,
    encode_outcome,
    encode_probe,
    encode_simulation,
)
from inference.protocol.experiments import GuessRequest
from inference.protocol.request import ProbeRequest
from inference.queue.app import make_app, set_up_log
from inference.worker.settings import read_settings

logger = logging.getLogger(__name__)

_LOWEST_PRIORITY = 19
_EXPIRY_S = 120
"""Lifetime of a result in Redis: it may have 1 MB, and Redis is small."""


class ProbeRefused(Exception):
    """The task cannot be done as requested."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ProbeApp(Celery):
    """A Celery app that owns the laboratory and the connection for its results."""

    laboratory: Any = None
    client: redis.Redis | None = None


app = make_app(ProbeApp, "probes", read_settings().redis_url, "probes", takes_ahead=False)
set_up_log(read_settings().log_format)


@worker_init.connect
def _yield_to_serving(**_: Any) -> None:
    os.nice(_LOWEST_PRIORITY)
    app.client = connect(read_settings().redis_url)


@app.task(name="inference.probe")
def probe(payload: str) -> None:
    """Make one probe (a ProbeRequest as JSON) and store its event under the request's key."""
    request = decode_probe_request(payload)
    name_request(request.request_id)
    key = probe_key(request.request_id, request.kind, len(request.ids) - 1)
    _answer(key, lambda: _probe(request))


@app.task(name="inference.simulate")
def simulate(payload: str) -> None:
    """Run one simulation (a SimulationRequest as JSON) and store it under the request's key."""
    _answer(simulation_key(payload), lambda: _simulate(payload))


@app.task(name="inference.experiment")
def experiment(payload: str) -> None:
    """Run one experiment (an Experiment as JSON) and store its outcome under the request's key."""
    _answer(experiment_key(payload), lambda: _experiment(payload))


def _answer(key: str, work: Callable[[], bytes]) -> None:
    assert app.client is not None
    if app.client.hget(key, "state") != b"queued":  # delivered twice, or the request has expired
        return
    app.client.hset(key, items=["state", "running", "since", time.time()])
    app.client.hset(key, items=_outcome(key, work))
    app.client.expire(key, _EXPIRY_S)


def _outcome(key: str, work: Callable[[], bytes]) -> list[str | bytes]:
    """Return the names and values of the hash."""
    try:
        return ["state", "done", "event", work()]
    except ProbeRefused as error:
        return ["state", "failed", "code", error.code, "message", str(error)]
    except Exception:
        logger.exception("%s failed", key)
        return ["state", "failed", "code", "internal", "message", "It failed. The probe worker's log has the details."]


def _probe(request: ProbeRequest) -> bytes:
    from inference.probes.errors import ProbeError

    try:
        return encode_probe(_laboratory().probe(request))
    except ProbeError as error:
        raise ProbeRefused(error.code, str(error)) from error


def _simulate(payload: str) -> bytes:
    from inference.simulation.simulator import CannotSimulate, Simulator

    try:
        return encode_simulation(Simulator(decode_simulation_request(payload)).run())
    except CannotSimulate as error:
        raise ProbeRefused("invalid", str(error)) from error


def _experiment(payload: str) -> bytes:
    from inference.simulation.guessing import guess

    asked = decode_experiment(payload)
    if isinstance(asked.request, GuessRequest):
        return encode_outcome(guess(asked.request))
    if read_settings().backend_url:
        raise ProbeRefused("no_weights", "A server elsewhere makes the answers. This server does not have its weights.")
    from inference.probes.errors import ProbeError

    try:
        return encode_outcome(_laboratory().run(asked.request, f"user:{asked.user}"))
    except ProbeError as error:
        raise ProbeRefused(error.code, str(error)) from error


def _laboratory() -> Any:
    if app.laboratory is None:
        from inference.probes.laboratory import Laboratory

        settings = read_settings()
        app.laboratory = Laboratory(settings.model_path, settings.model_name)
    return app.laboratory
