"""Saved traces in memory, each once for all streams that send it. Knows nothing of the streams."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from weakref import WeakValueDictionary

from inference.eventlog.entry import Mark, digest_of
from inference.protocol.codec import encode_events
from inference.protocol.events import Frame
from webapp.traces import store


@dataclass(frozen=True, weakref_slot=True, slots=True)
class SharedTrace:
    """A decoded trace, kept while a stream refers to it."""

    frames: list[Frame]

    def has(self, mark: Mark) -> bool:
        """Return whether the trace has what a reader of the live log has read up to this mark."""
        if not mark.digest or mark.seq > self.frames[-1].last_seq:
            return mark.seq <= self.frames[-1].last_seq
        digest = ""
        for frame in self.frames:
            digest = digest_of(digest, encode_events(frame.events))
            if frame.last_seq >= mark.seq:
                return Mark(frame.last_seq, digest) == mark
        return False


class SharedTraces:
    """Any thread may use it. One trace is decoded at a time, as it takes ten times its file's memory."""

    def __init__(self) -> None:
        self._open: WeakValueDictionary[store.Edition, SharedTrace] = WeakValueDictionary()
        self._lock = threading.Lock()

    def load(self, request_id: str) -> SharedTrace | None:
        """Return the trace; None where there is none. Raises TraceFileError."""
        with self._lock:
            edition = store.edition_of(request_id)
            if edition is None:
                return None
            found = self._open.get(edition)
            if found is None:
                found = self._open[edition] = SharedTrace(store.load_frames(request_id))
            return found


@cache
def shared_traces() -> SharedTraces:
    """This process's traces."""
    return SharedTraces()
