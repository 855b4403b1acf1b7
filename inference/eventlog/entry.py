"""One frame as the log keeps it, and the mark of its end. Knows nothing of where logs are kept.

Each entry has a digest of all events up to its end, and that of the entry it follows: a hash chain. Two logs with the
same mark are the same up to it, whatever either of them lost or whoever put it back.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from inference.protocol.codec import decode_events, frame_json
from inference.protocol.events import Frame

DIGEST_CHARS = 16
FRAME_ID = rf"([0-9]{{1,15}})(?:-([0-9a-f]{{{DIGEST_CHARS}}}))?"
"""The form of a frame's id, or of a bare seq."""


def digest_of(before: str, events: bytes) -> str:
    """Return the digest of a log that has these encoded events after those of the digest `before`."""
    return hashlib.sha1(before.encode() + events, usedforsecurity=False).hexdigest()[:DIGEST_CHARS]


@dataclass(frozen=True, slots=True)
class Mark:
    """The end of a frame: its last seq, and the digest of the log up to there."""

    seq: int = 0
    digest: str = ""
    """Empty: unknown. It agrees with any log that is long enough."""

    def __str__(self) -> str:
        return f"{self.seq}-{self.digest}" if self.digest else f"{self.seq}"

    @classmethod
    def parse(cls, text: str) -> Mark:
        """Return the mark with this frame id; a bare number is a seq alone. Raises ValueError."""
        found = re.fullmatch(FRAME_ID, text)
        if found is None:
            raise ValueError(f"{text!r} is no frame id")
        return cls(int(found[1]), found[2] or "")

    def agrees_with(self, digest: str) -> bool:
        """Return whether the digest at the same seq may be this mark's."""
        return not self.digest or not digest or self.digest == digest


BEGINNING = Mark()
"""The mark of an empty log."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A frame whose events are still encoded."""

    last_seq: int
    seq: int
    events: bytes
    follows: str = ""
    """The digest of the entry before; empty for the first, and unknown in a log of an earlier version."""
    digest: str = ""

    @property
    def mark(self) -> Mark:
        return Mark(self.last_seq, self.digest)

    @property
    def json(self) -> bytes:
        """Return the frame's JSON, as every reader receives it."""
        return frame_json(self.seq, str(self.mark), self.events)

    @property
    def frame(self) -> Frame:
        return Frame(seq=self.seq, events=decode_events(self.events), id=str(self.mark))


def end_of(frames: Sequence[Frame]) -> Mark:
    """Return the mark of the last frame; BEGINNING when there is none."""
    if not frames:
        return BEGINNING
    return Mark.parse(frames[-1].id) if frames[-1].id else Mark(frames[-1].last_seq)
