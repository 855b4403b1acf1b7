"""The way of one request from its preparation to an inference worker.

The worker is called at once and waits for the prompt: the call is on its way while the prompt is prepared (decision
0020). Knows nothing of how that is done.
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


class Handover:
    """First `call`, then `note` and at last `give` or `withdraw`."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._log = services.event_log()
        self._num_ahead = 0

    def call(self) -> None:
        """Call a worker. Raises AlreadyPrepared."""
        request_id, attempt = self._request.pk, self._request.attempt
        # A claim beside the log's own, which is for the generation of the same attempt.
        if not self._log.claim(f"{request_id}:prepare", attempt):
            raise AlreadyPrepared(f"{request_id} was delivered before")
        self._num_ahead = _queue_depth()
        app.send_task("inference.generate", args=[request_id, attempt], expires=EXPIRY_S)

    def note(self, done: Sequence[AnyEvent]) -> None:
        """Log what was done. Raises Fenced."""
        self._log.append(self._request.pk, done, self._request.attempt)

    def give(self, done: Sequence[AnyEvent], generation: GenerationRequest) -> None:
        """Log what was done and let the worker begin. Raises Fenced."""
        clock, attempt = RequestClock(self._request.accepted_unix_us), self._request.attempt
        queued = GenerationQueued(at=clock.at(), attempt=attempt, queue_depth=self._num_ahead)
        self._log.hand_over(self._request.pk, [*done, queued], attempt, generation)

    def withdraw(self) -> None:
        """There will be no prompt."""
        self._log.withdraw(self._request.pk)


def _queue_depth() -> int:
    with app.connection_or_acquire() as connection:
        channel = connection.default_channel
        return int(channel.client.llen("generate"))
