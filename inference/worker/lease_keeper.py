"""Renews the leases of the requests that this worker runs, in one thread. Knows nothing of how they run."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import RedisError

from inference.eventlog.event_log import Fenced
from inference.eventlog.leases import Holding, Leases

logger = logging.getLogger(__name__)

_LEASE_S = 1.6
"""A worker that renews no lease for so long loses its requests. An answer pauses for about as long."""
_RENEWAL_S = 0.4
_REPORT_S = 5.0
"""Time for the report of an answer's end to be acted on."""


class LeaseKeeper(threading.Thread):
    """Holds leases for as long as their tasks run."""

    def __init__(self, leases: Leases, worker: str) -> None:
        """worker: this worker's name, on which its requests are placed."""
        super().__init__(name="leases", daemon=True)
        self._worker = worker
        self._leases = leases
        self._held: set[Holding] = set()
        self._lock = threading.Lock()

    @contextmanager
    def held(self, holding: Holding) -> Iterator[None]:
        """Hold the lease within the block; an exception there lets it run out now, as nothing was reported.

        Raises Fenced where a later attempt holds it, RedisError.
        """
        if not self._leases.grant(*holding, _LEASE_S, self._worker):
            raise Fenced(f"{holding.request_id} is leased to a later attempt than {holding.attempt}")
        with self._lock:
            self._held.add(holding)
        left_s = 0.0
        try:
            yield
            left_s = _REPORT_S
        finally:
            self._let_go(holding, left_s)

    @property
    def num_held(self) -> int:
        """Return the number of leases that are held."""
        return len(self._held)

    def _let_go(self, holding: Holding, duration_s: float) -> None:
        with self._lock:
            self._held.discard(holding)
        try:
            self._leases.renew([holding], duration_s)
        except RedisError as error:
            logger.warning("the lease of %s ends by itself: %s", holding.request_id, error)

    def _put_back(self, held: list[Holding]) -> None:
        """Grant those leases again that Redis lost. One of a request that was just settled ends by itself."""
        missing = set(self._leases.missing([holding.request_id for holding in held]))
        for holding in held:
            if holding.request_id in missing:
                self._leases.grant(*holding, _LEASE_S, self._worker)

    def run(self) -> None:
        while True:
            time.sleep(_RENEWAL_S)
            with self._lock:
                held = list(self._held)
            try:
                if self._leases.renew(held, _LEASE_S) < len(held):
                    self._put_back(held)
            except Exception as error:  # the next renewal may succeed
                logger.warning("leases could not be renewed: %s", error)
