"""Starts, watches and stops the product, always with all children together."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Sequence
from types import FrameType

import redis
from django.db import DatabaseError
from kombu.exceptions import OperationalError

from inference.eventlog.keys import worker_key
from webapp.supervisor.checks import CannotStart
from webapp.supervisor.child import Child
from webapp.supervisor.leftovers import end_leftovers, is_ours_alone, num_open
from webapp.supervisor.product import Product

_POLL_S = 0.1
_START_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 3.5
"""Time after which the remaining processes are killed. No request is open then, so nothing is lost."""
_WORKERS = ("inference", "probes", "sender")
_SETTLE_S = 2.5
"""Time at a stop for open requests to be ended; the next start ends the rest."""
_OWN_END_S = 1.0
"""Part of _SETTLE_S in which the inference worker ends the requests that it has begun."""
_SHOW_S = 0.2
"""Time for the ends to reach the pages."""
_WEB_S = 1.0
"""Time for the web server to stop; it would wait longer for pages with an open connection."""
_DISPENSABLE = ("probes", "sender")
"""Processes that answers do not need."""
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
        self._children: list[Child] = []
        self._stop_asked_at: float | None = None

    def run(self, on_ready: Callable[[], None]) -> None:
        """Start everything, call on_ready, and stay until a signal or a child's death. Raises CannotStart."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._interrupt)
        try:
            self._start()
            on_ready()
            while True:
                self._check_children()
                time.sleep(_POLL_S)
        except Interrupted:
            self._say("stopping")
        finally:
            self._stop()

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self._stop_asked_at is None:
            self._stop_asked_at = time.monotonic()
            raise Interrupted
        if time.monotonic() - self._stop_asked_at > _PATIENCE_S:
            for child in self._children:
                child.send(signal.SIGKILL)

    def _start(self) -> None:
        self._children.append(self._product.start_redis())
        client = redis.Redis.from_url(self._product.redis_url, decode_responses=True)
        self._wait(lambda: _answers(client))
        if num_left := end_leftovers(self._product.redis_url):
            self._say(f"requests left open by the last run, now marked as failed: {num_left}")
        # Start the slowest first: the model loads while the others start.
        self._children.append(self._product.start_inference())
        self._children.append(self._product.start_lifecycle())
        self._children.append(self._product.start_web())
        shown = ""

        def is_loaded() -> bool:
            nonlocal shown
            status = _worker_status(client)
            if status != shown:
                shown = status
                self._say(status)
            return status == "model ready"

        self._wait(is_loaded)
        self._wait(self._product.answers_http)
        # These start last, because answers do not need them: they do not delay the others.
        self._children.append(self._product.start_probes())
        if sender := self._product.start_sender():
            self._children.append(sender)

    def _wait(self, is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not is_done():
            self._check_children()
            if time.monotonic() > deadline:
                raise CannotStart(f"Not ready after {_START_TIMEOUT_S:.0f} s; see the logs in {self._product.logs}.")
            time.sleep(_POLL_S)

    def _check_children(self) -> None:
        for child in [child for child in self._children if child.exit_status is not None]:
            message = f"the {child.name} process {child.ending()}"
            if child.name not in _DISPENSABLE:
                raise CannotStart(f"Stopped: {message}. Its log is {child.log_path}; what was written is kept.")
            self._say(f"{message}; the other parts go on")
            self._children.remove(child)

    def _stop(self) -> None:
        """Stop the engine, which ends its answers, before the processes that show and settle those ends."""
        self._stop_asked_at = self._stop_asked_at or time.monotonic()
        deadline = self._stop_asked_at + _STOP_TIMEOUT_S
        self._send(_WORKERS)
        if self._end_requests(_OWN_END_S):
            time.sleep(_SHOW_S)
        self._send(("web",))
        self._wait_for(("web",), min(deadline, time.monotonic() + _WEB_S))
        # Requests that came in meanwhile have no worker.
        self._end_requests(0)
        self._send(("lifecycle",))
        self._wait_for((*_WORKERS, "lifecycle"), deadline)
        self._send(("redis",))
        self._wait_for(("redis",), deadline)
        shutil.rmtree(self._product.runtime, ignore_errors=True)

    def _end_requests(self, patience_s: float) -> bool:
        """Wait until no request is open, and end the rest after patience_s; True if any were open."""
        start, were_any, is_asked = time.monotonic(), False, False
        while self._is_alive("lifecycle") and self._is_alive("redis") and time.monotonic() < start + _SETTLE_S:
            try:
                # In another database, a request's worker is unknown: ours ends its own requests and queues their ends.
                is_any = num_open() > 0 if is_ours_alone() else self._is_alive("inference")
                if not is_any:
                    break
                if not is_asked and time.monotonic() >= start + patience_s:
                    end_leftovers(self._product.redis_url)
                    is_asked = True
            except (DatabaseError, OperationalError) as error:
                self._say(f"open requests are left to the next start: {error}")
                break
            were_any = True
            time.sleep(_POLL_S)
        return were_any

    def _is_alive(self, name: str) -> bool:
        return any(child.name == name and child.exit_status is None for child in self._children)

    def _send(self, names: Sequence[str]) -> None:
        for child in self._children:
            if child.name in names:
                child.send(signal.SIGTERM)

    def _wait_for(self, names: Sequence[str], deadline: float) -> None:
        for child in [child for child in self._children if child.name in names]:
            child.wait(max(0.1, deadline - time.monotonic()))
            child.send(signal.SIGKILL)  # the remaining processes of its group
            child.wait(_STOP_TIMEOUT_S)


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def _worker_status(client: redis.Redis) -> str:
    """One line on the model's loading. Raises CannotStart when it cannot be loaded."""
    for key in client.scan_iter(worker_key("*")):
        fields = client.hgetall(key)
        if fields.get("state") == "failed":
            raise CannotStart(f"The model could not be loaded: {fields.get('message', '')!s}")
        if fields.get("state") == "ready":
            return "model ready"
        percent = int(float(fields.get("progress", 0)) * 100)
        return f"loading the model: {percent - percent % _PROGRESS_STEP} %"
    return "starting"
