"""Reads cancel flags beside the engine, which waits at most 2 ms for an answer. Knows nothing of the engine."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from inference.eventlog.event_log import EventLog

logger = logging.getLogger(__name__)

_PATIENCE_S = 0.002
"""Longest wait for the flags: ten times what a healthy Redis needs, a fraction of an engine step."""


class CancelFlags(threading.Thread):
    """Asks the log in its own thread, so that trouble with the log never stops the engine."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(name="cancel-flags", daemon=True)
        self._log = log
        self._request_ids: Sequence[str] = ()
        self._cancelled: frozenset[str] = frozenset()
        self._is_asked = threading.Event()
        self._is_answered = threading.Event()

    def cancelled(self, request_ids: Sequence[str]) -> frozenset[str]:
        """Return the requests known to be cancelled; the next call finds one that this call misses."""
        self._request_ids = request_ids
        self._is_answered.clear()
        self._is_asked.set()
        self._is_answered.wait(_PATIENCE_S)
        return self._cancelled.intersection(request_ids)

    def run(self) -> None:
        while self._is_asked.wait():
            self._is_asked.clear()
            self._read(self._request_ids)

    def _read(self, request_ids: Sequence[str]) -> None:
        try:
            flags = self._log.is_cancelled(request_ids)
        except Exception as error:  # any error of the log: requests go on without it
            logger.warning("cancel flags could not be read: %s", error)
            return
        self._cancelled = frozenset(name for name, is_set in zip(request_ids, flags, strict=True) if is_set)
        self._is_answered.set()
