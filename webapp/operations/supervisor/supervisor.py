"""Starts the product's processes, starts again each one that ends, and stops them all together."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType

import redis
from django.db import DatabaseError
from kombu.exceptions import OperationalError

from inference.eventlog.connections import connect
from inference.eventlog.keys import DRAINED_WORKERS, GENERATE_QUEUES, worker_key
from inference.protocol.failures import SERVICE_STOPPED
from webapp.operations.supervisor.checks import CannotStart
from webapp.operations.supervisor.child import Child
from webapp.operations.supervisor.fleet import Fleet
from webapp.operations.supervisor.leftovers import end_leftovers, is_ours_alone, num_open
from webapp.operations.supervisor.part import Part
from webapp.operations.supervisor.patience import Patience
from webapp.operations.supervisor.product import Product

_POLL_S = 0.1
_STOP_TIMEOUT_S = 8.0
"""Time after which the remaining processes are killed. No request is open then, so nothing is lost."""
_SETTLE_S = 6.0
"""Time at a stop for open requests to be ended; the next start ends the rest."""
_SHOW_S = 0.5
"""Time for the ends to reach the pages."""
_WEB_S = 1.0
"""Time for the web server to stop; it would wait longer for pages with an open connection."""
_PATIENCE_S = 1.0
"""A second signal within this time is the same Ctrl-C, passed on by `make`; a later one kills all children."""
_PROGRESS_STEP = 20
"""Percent of the model's loading between two printed lines."""


class Interrupted(Exception):
    """A signal asked the supervisor to stop."""


class Supervisor:
    """Owns the child processes, and alone ends them."""

    def __init__(self, product: Product, say: Callable[[str], None]) -> None:
        self._product = product
        self._say = say
        self._parts: list[Part] = []
        self._fleet = Fleet(product.start_model_worker, say)
        self._stop_asked_at: float | None = None

    def run(self, on_ready: Callable[[], None]) -> None:
        """Start everything, call on_ready, and keep it running until a signal. Raises CannotStart."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._interrupt)
        try:
            self._start()
            on_ready()
            while True:
                for part in self._parts:
                    part.keep(self._say)
                self._fleet.tend()
                time.sleep(_POLL_S)
        except Interrupted:
            self._say("stopping")
        finally:
            self._stop()
            self._say("stopped")

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self._stop_asked_at is None:
            self._stop_asked_at = time.monotonic()
            raise Interrupted
        if time.monotonic() - self._stop_asked_at > _PATIENCE_S:
            for child in [*(part.child for part in self._parts), *self._fleet.children]:
                child.send(signal.SIGKILL)

    def _start(self) -> None:
        client = connect(self._product.redis_url, decode_responses=True)
        self._start_redis(client)
        _forget_workers(client)
        if num_left := end_leftovers(self._product.redis_url, SERVICE_STOPPED):
            self._say(f"requests left open by the last run, now marked as failed: {num_left}")
        # Start the slowest first: the model loads while the others start.
        for name in self._product.inference_names:
            self._add(partial(self._product.start_inference, name))
        self._add(self._product.start_lifecycle)
        self._add(self._product.start_web)
        shown = ""

        def is_loaded() -> bool:
            nonlocal shown
            status = _worker_status(client, self._product.configured_model)
            if status != shown:
                shown = status
                self._say(status)
            return status == "model ready"

        self._wait(is_loaded)
        for notice in _notices(client):
            self._say(notice)
        self._wait(self._product.answers_http)
        # These start last, because answers do not need them: they do not delay the others.
        self._add(self._product.start_probes)
        if self._product.has_sender:
            self._add(self._product.start_sender)

    def _add(self, start: Callable[[], Child]) -> None:
        self._parts.append(Part(start, start()))

    def _start_redis(self, client: redis.Redis) -> None:
        """Start Redis on what the last run left; on nothing where that cannot be read."""
        self._add(self._product.start_redis)
        (part,) = self._parts
        self._wait(lambda: _answers(client) or part.child.exit_status is not None, is_checked=False)
        is_unreadable = part.child.exit_status is not None and "append only file" in part.child.log()
        if is_unreadable and (kept := self._product.put_redis_data_aside()):
            self._say(f"Redis could not read what the last run left ({part.child.last_line()}); it is kept in {kept}")
            part.child = part.start()
        self._wait(lambda: _answers(client))

    def _wait(self, is_done: Callable[[], bool], is_checked: bool = True) -> None:
        """Wait while the product starts. is_checked: the end of a process ends the wait. Raises CannotStart."""
        patience = Patience(lambda: [part.child.pid for part in self._parts])
        while not is_done():
            if is_checked:
                self._check()
            if patience.is_over():
                raise CannotStart(
                    f"The start makes no progress: the processes hardly compute. See the logs in {self._product.logs}."
                )
            time.sleep(_POLL_S)

    def _check(self) -> None:
        """Raises CannotStart where a process ended. It would end at the next start too."""
        for child in [part.child for part in self._parts if part.child.exit_status is not None]:
            message = f"the {child.title} process {child.ending()}"
            raise CannotStart(f"Stopped: {message}. Its log is {child.log_path}; what was written is kept.")

    def _stop(self) -> None:
        """End the open requests before the processes that compute, show and settle them."""
        self._stop_asked_at = self._stop_asked_at or time.monotonic()
        deadline = self._stop_asked_at + _STOP_TIMEOUT_S
        if self._end_requests(deadline - _WEB_S):
            time.sleep(_SHOW_S)
        workers = ("probes", "sender", *self._product.inference_names)
        self._send(workers)
        for child in self._fleet.children:
            child.send(signal.SIGTERM)
        self._send(("web",))
        self._wait_for(("web",), min(deadline, time.monotonic() + _WEB_S))
        # Requests that came in meanwhile have no worker.
        self._end_requests(deadline)
        self._send(("lifecycle",))
        self._wait_for((*workers, "lifecycle"), deadline)
        for child in self._fleet.children:
            _end(child, deadline)
        self._send(("redis",))
        self._wait_for(("redis",), deadline)
        shutil.rmtree(self._product.runtime, ignore_errors=True)

    def _end_requests(self, deadline: float) -> bool:
        """End the open requests and wait until none is left, or until the deadline; True if any were open."""
        deadline, were_any, is_asked = min(deadline, time.monotonic() + _SETTLE_S), False, False
        while self._is_alive("lifecycle") and self._is_alive("redis") and time.monotonic() < deadline:
            try:
                # In another database, other instances carry on the requests that our worker hands over.
                if not is_ours_alone() or not num_open():
                    break
                if not is_asked:
                    end_leftovers(self._product.redis_url, SERVICE_STOPPED)
                    is_asked = True
            except (DatabaseError, OperationalError) as error:
                self._say(f"open requests are left to the next start: {error}")
                break
            were_any = True
            time.sleep(_POLL_S)
        return were_any

    def _is_alive(self, name: str) -> bool:
        return any(part.child.name == name and part.child.exit_status is None for part in self._parts)

    def _send(self, names: Sequence[str]) -> None:
        for part in self._parts:
            if part.child.name in names:
                part.child.send(signal.SIGTERM)

    def _wait_for(self, names: Sequence[str], deadline: float) -> None:
        for child in [part.child for part in self._parts if part.child.name in names]:
            _end(child, deadline)


def _end(child: Child, deadline: float) -> None:
    child.wait(max(0.1, deadline - time.monotonic()))
    child.send(signal.SIGKILL)  # the remaining processes of its group
    child.wait(_STOP_TIMEOUT_S)


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def _forget_workers(client: redis.Redis) -> None:
    """Delete what the last run's workers left: heartbeats and queues. Their requests are ended."""
    queues: list[str] = client.zrange(GENERATE_QUEUES, 0, -1)  # type: ignore[assignment]
    for key in [*client.scan_iter(worker_key("*")), *queues, GENERATE_QUEUES, DRAINED_WORKERS]:
        client.delete(key)


def _worker_status(client: redis.Redis, model: str) -> str:
    """One line on the configured model's loading by the first worker. Raises CannotStart when it cannot be loaded."""
    found = [client.hgetall(key) for key in client.scan_iter(worker_key("*"))]
    workers = [fields for fields in found if fields.get("model") == model]
    for fields in workers:
        if fields.get("state") == "failed":
            raise CannotStart(f"The model could not be loaded: {fields.get('message', '')!s}")
    if not workers:
        return "starting"
    if any(fields.get("state") == "ready" for fields in workers):
        return "model ready"
    percent = int(max(float(fields.get("progress", 0)) for fields in workers) * 100)
    return f"loading the model: {percent - percent % _PROGRESS_STEP} %"


def _notices(client: redis.Redis) -> list[str]:
    """The workers' own words on what is not as it could be."""
    workers = [client.hgetall(key) for key in client.scan_iter(worker_key("*"))]
    return [str(fields["notice"]) for fields in workers if "notice" in fields]
