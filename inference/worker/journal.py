"""A worker's own copy of the log of the request that it runs, with which it repairs a log that lost events.

Redis may come back without its last writes, or empty. The worker still has them, and puts them back as they were: same
seqs, same events, same digests. Readers that had seen them notice nothing. Knows nothing of what events mean, but for a
cancel, whose flag is lost with its event.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence

from inference.eventlog.entry import BEGINNING, Entry, Mark
from inference.eventlog.event_log import EventLog, LogLost
from inference.protocol.events import AnyEvent, Frame

logger = logging.getLogger(__name__)

MAX_BYTES = 8 << 20
"""Limit of one copy. Beyond it the oldest frames go, so that a log that lost all cannot be repaired any more."""
_CANCELLED = b'"type":"request.cancelled"'
"""Quotes inside JSON strings are escaped, so these bytes can only be an event's tag."""


class Journal:
    """Appends the frames of one attempt; one thread may use it."""

    def __init__(self, log: EventLog, request_id: str, attempt: int, seq: int, claim: str = "") -> None:
        """seq: the log's last when the attempt was queued. claim: this task's claim of the attempt."""
        self._log, self._request_id = log, request_id
        self._attempt, self._claim = attempt, claim
        self._known = Mark(seq)
        self._copy: deque[Entry] = deque()
        self._num_bytes = 0

    def read(self) -> list[Frame]:
        """Read the log to its end. Raises LogLost where it ends before the attempt was queued."""
        entries = self._log.entries(self._request_id)
        end = entries[-1].mark if entries else BEGINNING
        if end.seq < self._known.seq:
            raise LogLost(f"{self._request_id} ends at {end}, before {self._known}")
        self._known = end
        self._keep(entries)
        return [entry.frame for entry in entries]

    def append(self, events: Sequence[AnyEvent]) -> None:
        """Append a frame, after a repair where it is needed. Raises Fenced, and LogLost where it cannot repair."""
        try:
            entry = self._append(events)
        except LogLost as error:
            logger.warning("repairs a log: %s", error)
            self._repair()
            entry = self._append(events)
        self._known = entry.mark
        if self._copy and self._copy[-1].digest == entry.follows:
            self._keep([entry])
        else:  # the first frame, or another process wrote one in between
            self._copy.clear()
            self._num_bytes = 0
            self._keep(self._log.entries(self._request_id))

    def _append(self, events: Sequence[AnyEvent]) -> Entry:
        return self._log.append(self._request_id, events, self._attempt, self._known, claim=self._claim)

    def _keep(self, entries: Sequence[Entry]) -> None:
        self._copy.extend(entries)
        self._num_bytes += sum(len(entry.events) for entry in entries)
        while self._num_bytes > MAX_BYTES:
            self._num_bytes -= len(self._copy.popleft().events)

    def _repair(self) -> None:
        """Put back what the log lost. Raises LogLost where the copy does not begin with what is left of it."""
        left, copy = self._log.mark(self._request_id), list(self._copy)
        is_whole = bool(copy) and copy[-1].mark == self._known
        start = next((at for at, entry in enumerate(copy) if entry.seq == left.seq + 1), None)
        if not is_whole or start is None or copy[start].follows != left.digest:
            raise LogLost(f"{self._request_id} ends at {left}, and this worker's copy does not go on there")
        lost = copy[start:]
        self._log.put_back(self._request_id, self._attempt, self._claim, left, lost)
        if any(_CANCELLED in entry.events for entry in lost):
            self._log.cancel(self._request_id)
        logger.warning("put back %d frames of %s after %s", len(lost), self._request_id, left)
