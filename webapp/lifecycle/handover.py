"""The way of one request from its start to an inference worker, past its preparation.

The preparation of a short one begins while it is being saved, with all that it needs in its message (decision 0026).
The worker is called when it is saved, and waits for the prompt: its call is on its way while the prompt is prepared
(decision 0020). Knows nothing of how that is done.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from redis.exceptions import RedisError

from inference.eventlog.clock import RequestClock
from inference.eventlog.event_log import EXPIRY_S
from inference.protocol.events import AnyEvent, GenerationQueued, RequestCancelled
from inference.protocol.request import GenerationRequest
from webapp.celery import app
from webapp.requests import services
from webapp.requests.models import Request

_PATIENCE_S = 0.5
"""How long a preparation waits for its request to be accepted."""
_MAX_EARLY_CHARS = 32_768
"""About what a window holds: so much is sooner in a message than in the database, and cheaply assembled in vain."""
_MAX_CHECKED_CHARS = 2_000
"""Of more words the safety check takes a tenth of a second: too much for what may be refused."""
_UNTOLD: dict[str, Any] = {"argsrepr": "", "kwargsrepr": ""}
"""A message's arguments, a user's text among them, are not written out once more for who watches the queues."""
_EARLY = ("id", "user_id", "model", "attempt", "input", "params", "accepted_unix_us")


class NotOurs(Exception):
    """The request was delivered twice, and another prepares it, or did; or it has not been accepted in time."""


def is_short(request: Request) -> bool:
    """Whether it pays to announce it: a fork needs its parent's row anyway."""
    lengths = [(message["role"], len(message["content"])) for message in request.input["messages"]]
    num_checked = sum(length for role, length in lengths[:-1] if role == "system") + lengths[-1][1]
    is_long = num_checked > _MAX_CHECKED_CHARS or sum(length for _, length in lengths) > _MAX_EARLY_CHARS
    return request.fork_position is None and not is_long


def announce(request: Request) -> float:
    """Have one that is not saved yet prepared; nothing comes of that before it is accepted.

    Returns when it was announced, in monotonic seconds. Raises OperationalError, RedisError, OSError.
    """
    announced = time.monotonic()
    app.send_task("lifecycle.prepare", args=[request.pk, num_waiting(), as_message(request)], **_UNTOLD)
    return announced


def as_message(request: Request) -> dict[str, Any]:
    """All of it that its preparation needs."""
    return {name: getattr(request, name) for name in _EARLY}


def call(request: Request, announced: float | None) -> None:
    """Have a saved one prepared, and call the worker that will generate. Raises OperationalError, RedisError, OSError.

    announced: when it was; None: it was not. Where that was long ago it may have been given up.
    """
    if announced is None or time.monotonic() - announced > _PATIENCE_S / 2:
        # Counted before the call is one of them; prepared first, since the worker waits for that.
        app.send_task("lifecycle.prepare", args=[request.pk, num_waiting()])
    app.send_task("inference.generate", args=[request.pk, request.attempt], expires=EXPIRY_S, **_UNTOLD)


def revoke(request: Request) -> None:
    """What was announced is not accepted: nothing is to come of it, and nothing to stay but that for a while."""
    log, request_id, attempt = services.event_log(), request.pk, request.attempt + 1
    cancelled = RequestCancelled(at=RequestClock(request.accepted_unix_us).at(), by="gateway")
    with suppress(RedisError):
        log.fence(request_id, attempt)
        log.forget(request_id)
        log.append(request_id, [cancelled], attempt)  # who prepares it waits for an event, or will
        log.retire(request_id)


def num_waiting() -> int:
    """Calls that no worker has taken yet."""
    with app.connection_or_acquire() as connection:
        return int(connection.default_channel.client.llen("generate"))


class Handover:
    """One preparation's way out: `note`, and at last `give`."""

    def __init__(self, request: Request, num_ahead: int) -> None:
        """Claims the preparation, beside what is prepared; nothing is written before it is ours.

        num_ahead: calls that no worker had taken when the request's preparation was asked for.
        """
        self._request = request
        self._num_ahead = num_ahead
        self._log = services.event_log()
        self._claimed = services.beside().submit(self._claim)

    def _claim(self) -> bool:
        """Raises Fenced."""
        request_id, attempt = self._request.pk, self._request.attempt
        if not self._log.await_first(request_id, attempt, _PATIENCE_S):
            return False
        # A claim beside the log's own, which is for the generation of the same attempt.
        return self._log.claim(f"{request_id}:prepare", attempt)

    def note(self, done: Sequence[AnyEvent]) -> None:
        """Log what was done. Raises NotOurs, Fenced."""
        self.ensure_claimed()
        self._log.append(self._request.pk, done, self._request.attempt)

    def give(self, done: Sequence[AnyEvent], generation: GenerationRequest) -> None:
        """Log what was done and let the worker begin. Raises NotOurs, Fenced."""
        self.ensure_claimed()
        clock, attempt = RequestClock(self._request.accepted_unix_us), self._request.attempt
        queued = GenerationQueued(at=clock.at(), attempt=attempt, queue_depth=self._num_ahead)
        self._log.hand_over(self._request.pk, [*done, queued], attempt, generation)

    def ensure_claimed(self) -> None:
        """Raises NotOurs, Fenced."""
        if not self._claimed.result():
            raise NotOurs(f"{self._request.pk} was delivered before, or not accepted")
