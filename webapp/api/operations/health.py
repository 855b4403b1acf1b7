"""Health: a bare status for every caller, and for operators what is missing. Knows nothing of the supervisor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from webapp.api.operators import checked_operator
from webapp.api.usage.usage import PERMISSION
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.structs import Result
from webapp.requests.workers import WorkerStatus
from webapp.requests.workers import workers as list_workers


class Health(Result):
    """The web process answers."""

    status: Literal["ok"] = "ok"


class Readiness(Result):
    """A message would be answered, or not."""

    status: Literal["ready", "not ready"]


class ReadinessChecks(Result):
    """The parts of the service that a message needs."""

    database: bool
    redis: bool
    worker: bool
    """A worker has loaded the configured model."""


class SystemHealth(Result):
    """The state of the service, part by part."""

    status: Literal["ready", "not ready"]
    checks: ReadinessChecks
    workers: list[WorkerStatus]


@dataclass(frozen=True)
class _Parts:
    checks: ReadinessChecks
    workers: list[WorkerStatus]

    @property
    def is_ready(self) -> bool:
        return self.checks.database and self.checks.redis and self.checks.worker

    @property
    def status(self) -> Literal["ready", "not ready"]:
        return "ready" if self.is_ready else "not ready"


@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """200 as long as the web process answers."""
    return json_response(Health())


@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """200 when the database, the queue and a worker with a loaded model are there; else 503. Says no more."""
    parts = _parts()
    return json_response(Readiness(parts.status), status=200 if parts.is_ready else 503)


def show_health(request: HttpRequest) -> SystemHealth:
    """Show operators which part of the service is missing. 403 `forbidden` without the permission to view usage."""
    checked_operator(request, PERMISSION, "Only operators see which part of the service is missing.")
    parts = _parts()
    return SystemHealth(parts.status, parts.checks, parts.workers)


def _parts() -> _Parts:
    workers = list_workers()
    checks = ReadinessChecks(
        database=_is_database_up(),
        redis=workers is not None,
        worker=any(
            (worker.state, worker.model) == ("ready", settings.ENVIRONMENT.model_name) for worker in workers or ()
        ),
    )
    return _Parts(checks, workers or [])


def _is_database_up() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    # An InterfaceError is no DatabaseError.
    except Error:
        return False
    return True
