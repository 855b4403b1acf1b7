"""The way of one request from its start to an inference worker, past its preparation.

The worker is called when `prepare` is, and waits for the prompt: its call is on its way while the prompt is prepared
(decision 0020). Knows nothing of how that is done.
"""

from __future__ import annotations

from collections.abc import Sequence

from inference.eventlog.clock import RequestClock
from inference.eventlog.event_log import EXPIRY_S
from inference.protocol.events import AnyEvent, GenerationQueued
from inference.protocol.request import GenerationRequest
from webapp.celery import app
from webapp.lifecycle import services
from webapp.lifecycle.models import Request


class AlreadyPrepared(Exception):
    """The request was delivered twice: another prepares it, or did."""


def call(request: Request) -> None:
    """Have it prepared, and call the worker that will generate. Raises OperationalError, RedisError, OSError."""
    # Counted before the call is one of them; prepared first, since the worker waits for that.
    app.send_task("lifecycle.prepare", args=[request.pk, _num_waiting()])
    app.send_task("inference.generate", args=[request.pk, request.attempt], expires=EXPIRY_S)


def _num_waiting() -> int:
    """Calls that no worker has taken yet."""
    with app.connection_or_acquire() as connection:
        return int(connection.default_channel.client.llen("generate"))


class Handover:
    """One preparation's way out: `note`, and at last `give`."""

    def __init__(self, request: Request, num_ahead: int) -> None:
        """Claims the preparation, beside what is prepared; nothing is written before it is ours.

        num_ahead: calls that no worker had taken when this request's was made.
        """
        self._request = request
        self._num_ahead = num_ahead
        self._log = services.event_log()
        # A claim beside the log's own, which is for the generation of the same attempt.
        self._claimed = services.beside().submit(self._log.claim, f"{request.pk}:prepare", request.attempt)

    def note(self, done: Sequence[AnyEvent]) -> None:
        """Log what was done. Raises AlreadyPrepared, Fenced."""
        self.ensure_claimed()
        self._log.append(self._request.pk, done, self._request.attempt)

    def give(self, done: Sequence[AnyEvent], generation: GenerationRequest) -> None:
        """Log what was done and let the worker begin. Raises AlreadyPrepared, Fenced."""
        self.ensure_claimed()
        clock, attempt = RequestClock(self._request.accepted_unix_us), self._request.attempt
        queued = GenerationQueued(at=clock.at(), attempt=attempt, queue_depth=self._num_ahead)
        self._log.hand_over(self._request.pk, [*done, queued], attempt, generation)

    def ensure_claimed(self) -> None:
        """Raises AlreadyPrepared, Fenced."""
        if not self._claimed.result():
            raise AlreadyPrepared(f"{self._request.pk} was delivered before")
