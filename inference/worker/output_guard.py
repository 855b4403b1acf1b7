"""Holds generated tokens until their text may be seen. Knows nothing of the engine or the log.

Tokens are held together with their text and with the events that tell of them; each check releases all of them or
withholds all of them. Nothing that is held is in the log, so what is withheld never leaves this process.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from inference.engine.sequence import Clock
from inference.protocol.events import AnyEvent, TextReleased, TextWithheld, TokenSampled
from inference.safety import Guard
from inference.safety.policy import Release
from inference.tokenization.detokenizer import Detokenizer

_SENTENCE_END = re.compile(r"[.!?\n]\s*$")


class OutputGuard:
    """One request's held tokens and released text."""

    def __init__(
        self, guard: Guard, clock: Clock, stop: Sequence[str], is_guarded: bool, stop_ids: Container[int] = ()
    ) -> None:
        self._guard = guard
        self._clock = clock
        self._stop = stop
        self._stop_ids = stop_ids
        self._is_guarded = is_guarded
        self._detokenizer = Detokenizer()
        self._held: list[TokenSampled] = []
        self._notes: list[AnyEvent] = []
        self._pending = ""
        self._released = ""
        self._num_released_tokens = 0
        self.num_tokens = 0
        """Tokens that belong to the answer: released, held or withheld."""
        self.is_stopped = False
        """A stop text was found: the answer is complete."""
        self.is_blocked = False
        """Text was withheld: the answer must end."""

    def add(self, token: TokenSampled) -> None:
        """Hold one more token."""
        if self.is_stopped or self.is_blocked:
            return
        self.num_tokens += 1
        self._held.append(token)
        if token.id not in self._stop_ids:
            self._pending += self._detokenizer.add(token.piece)
            self._cut_at_stop()

    def add_note(self, event: AnyEvent) -> None:
        """Hold an event that tells of the next tokens."""
        if not (self.is_stopped or self.is_blocked):
            self._notes.append(event)

    def _cut_at_stop(self) -> None:
        found = [index for text in self._stop if (index := self._pending.find(text)) >= 0]
        if found:
            self._pending = self._pending[: min(found)]
            self.is_stopped = True

    @property
    def is_due(self) -> bool:
        """Whether enough is held for a check, and all of it could be released."""
        if self.is_stopped:
            return True
        if not self._held or not self._detokenizer.is_whole or self._may_become_stop:
            return False
        release: Release = self._guard.release
        enough = release.every_tokens if self._num_released_tokens else release.first_tokens
        return len(self._held) >= enough or bool(_SENTENCE_END.search(self._pending))

    @property
    def _may_become_stop(self) -> bool:
        """Whether the pending text ends in the beginning of a stop text."""
        return any(self._pending.endswith(text[:size]) for text in self._stop for size in range(1, len(text)))

    def flush(self) -> list[AnyEvent]:
        """The events to append at the end: everything still held, checked."""
        if not (self.is_stopped or self.is_blocked):
            self._pending += self._detokenizer.flush()
        return self.release()

    def release(self) -> list[AnyEvent]:
        """Check what is held; the events to append: tokens, check and text, or check and withheld."""
        if not self._held:
            return []
        held, self._held = self._held, []
        text, self._pending = self._pending, ""
        if not text.strip() or not self._is_guarded:
            return self._passed(held, text, [])
        return self._checked(held, text)

    def _checked(self, held: list[TokenSampled], text: str) -> list[AnyEvent]:
        # The sentence is judged as a whole, its released beginning included.
        start = self._sentence_start()
        check = self._guard.check(self._released[start:] + text, "output")
        now = self._clock.at()
        event = check.event(now, "output", start, len(self._released) + len(text), now - held[0].at)
        if check.verdict != "block":
            return self._passed(held, text, [event])
        self.is_blocked = True
        withheld = TextWithheld(at=now, num_tokens=len(held), category=check.category, replacement=check.replacement)
        return [event, withheld]

    def _sentence_start(self) -> int:
        ends = [match.end() for match in re.finditer(r"[.!?\n]\s*", self._released)]
        return ends[-1] if ends else 0

    def _passed(self, held: list[TokenSampled], text: str, checks: list[AnyEvent]) -> list[AnyEvent]:
        self._released += text
        self._num_released_tokens += len(held)
        released = TextReleased(at=self._clock.at(), text=text, num_tokens=self._num_released_tokens)
        notes, self._notes = self._notes, []
        return [*sorted([*notes, *held], key=lambda event: event.at), *checks, released]
