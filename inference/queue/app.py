"""The one place that makes a Celery app, with the options that all of them share. Knows nothing of their tasks."""

from __future__ import annotations

import faulthandler
import logging
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from celery import Celery
from celery.signals import celeryd_init, task_prerun, worker_shutdown

from inference.logs.lines import LogFormat, log_as_json
from inference.logs.request import name_request
from inference.queue.broker import broker_of
from inference.queue.process_end import end_process

App = TypeVar("App", bound=Celery)

_PUBLISHING = {"max_retries": 1, "interval_start": 0.2}
"""A message is sent again once: a caller waits for a limited time, and the watchdog finds what was not sent."""
_REQUEST_ID = re.compile(r"req_[0-9A-Za-z]+")


def make_app(
    kind: type[App],
    name: str,
    redis_url: str,
    queue: str,
    *,
    routes: Mapping[str, str] | None = None,
    fails_fast: bool = False,
    takes_ahead: bool = True,
    is_of_site: bool = False,
    is_current: bool = True,
) -> App:
    """Make a Celery app. queue: takes each task that has no route. routes: task to queue.

    fails_fast: sending fails within seconds while the broker is away, so that a request is refused and does not hang.
    takes_ahead: a worker takes messages before it can run them.
    is_of_site: the worker sets up Django; else it loads nothing of the site, wherever it is started.
    is_current: tasks declared without an app belong to this one.
    """
    # Celery sets up Django in each process whose environment names its settings, unless it is told not to.
    fixups: list[str] | None = None if is_of_site else []
    broker = broker_of(redis_url)
    app = kind(name, broker=broker.url, set_as_current=is_current, fixups=fixups)
    app.conf.update(
        # Outcomes travel in event logs and Redis hashes.
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        task_default_queue=queue,
        task_routes={task: {"queue": target} for task, target in (routes or {}).items()},
        worker_disable_prefetch=not takes_ahead,
        # The process sets up its own log.
        worker_hijack_root_logger=False,
        # A worker may start before the broker.
        broker_connection_retry_on_startup=True,
        broker_transport_options=broker.transport_options | _transport_options(fails_fast),
        broker_use_ssl=broker.tls,
        task_publish_retry_policy=_PUBLISHING,
    )
    return app


def _transport_options(fails_fast: bool) -> dict[str, object]:
    """Acknowledge messages at once: the watchdog, not Celery, finds a message that is lost with its worker."""
    options: dict[str, object] = {"ack_emulation": False}
    return options | {"max_retries": 1} if fails_fast else options


def set_up_worker() -> None:
    """Log one line per task of this process, at its end, and exit at once when the worker stops.

    A signal that ends the process from inside, such as SIGSEGV, first writes the stack of each thread to its log.
    """
    faulthandler.enable()
    logging.getLogger("celery.worker.strategy").setLevel(logging.WARNING)
    worker_shutdown.connect(end_process)


def set_up_log(log_format: LogFormat) -> None:
    """Let a worker of this process log in this format. Celery's own format stays where nothing else sets one."""

    def begin(instance: Any, **_: Any) -> None:
        instance.quiet = True  # its banner is no JSON
        log_as_json()

    if log_format == "json":
        celeryd_init.connect(begin, weak=False)


@task_prerun.connect
def _name_request(args: Any = (), **_: Any) -> None:
    """Name the request in the task's lines. Most tasks of a request take its id first."""
    first = args[0] if args else None
    name_request(first if isinstance(first, str) and _REQUEST_ID.fullmatch(first) else None)
