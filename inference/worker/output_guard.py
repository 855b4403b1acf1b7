"""Buffers generated tokens until their text may be seen. Knows nothing of the engine or the log.

Tokens are buffered together with their text and their events; each check releases all of them or withholds all of them.
Nothing that is buffered is in the log, so withheld text never leaves this process.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

import msgspec

from inference.eventlog.clock import Clock
from inference.protocol.events import AnyEvent, DraftVerified, TextReleased, TextWithheld, TokenProposed, TokenSampled
from inference.protocol.safety_policy import Release
from inference.safety import Guard
from inference.tokenization.detokenizer import Detokenizer
from inference.tokenization.stop_texts import num_waiting_chars
from inference.worker.repetition import Repetition

_SENTENCE_END = re.compile(r"[.!?\n]\s*")
_ENDS_SENTENCE = re.compile(_SENTENCE_END.pattern + "$")


class OutputGuard:
    """One request's buffered tokens and released text."""

    def __init__(
        self,
        guard: Guard,
        clock: Clock,
        stop: Sequence[str],
        is_guarded: bool,
        stop_ids: Container[int] = (),
        principal: str | None = None,
        repetition: Repetition | None = None,
    ) -> None:
        """repetition: a detector that has read the tokens taken over; None: the answer may repeat itself."""
        self._guard = guard
        self._clock = clock
        self._stop = stop
        self._stop_ids = stop_ids
        self._is_guarded = is_guarded
        self._principal = principal
        self._repetition = repetition
        self._detokenizer = Detokenizer()
        self._buffered: list[TokenSampled] = []
        self._notes: list[AnyEvent] = []
        self._pending = ""
        self._num_released_chars = 0
        self._sentence = ""
        """The released part of the sentence that the next text belongs to."""
        self._num_released_tokens = 0
        self._num_kept_tokens = 0
        self.num_tokens = 0
        """Tokens generated that belong to the answer: released, buffered or withheld."""
        self.is_stopped = False
        """A stop text was found: the answer is complete."""
        self.is_repeating = False
        """The last tokens repeat one cycle of tokens: the answer must end with them."""
        self.is_blocked = False
        """Text was withheld: the answer must end."""

    def resume(self, tokens: Sequence[TokenSampled], shown: str, num_withheld: int) -> None:
        """Continue this answer after `tokens`, which an earlier attempt released. Call it after `keep`.

        shown: all text that is shown. num_withheld: tokens whose text was withheld; with any, the answer is over.
        """
        pieces = [token.piece for token in tokens if token.id not in self._stop_ids]
        self._pending += "".join(map(self._detokenizer.add, pieces))
        num_new_chars = len(shown) - self._num_released_chars
        self._begin_sentence(self._pending[:num_new_chars])
        self._pending = self._pending[num_new_chars:]
        self._num_released_chars = len(shown)
        self._num_released_tokens = len(tokens)
        self.num_tokens = len(tokens) + num_withheld
        self.is_blocked = num_withheld > 0
        for token in tokens:
            self.is_repeating = self._repetition is not None and self._repetition.add(token.id)
        self._cut_at_stop()

    def keep(self, pieces: Sequence[bytes], shown: str) -> None:
        """Continue an answer taken over from elsewhere, of which the text `shown` was checked and is shown.

        An end that may still become a stop text, and an unfinished character, wait for the tokens that follow.
        """
        self._num_kept_tokens = len(pieces)
        self._pending = "".join(map(self._detokenizer.add, pieces))[len(shown) :]
        self._begin_sentence(shown)
        self._num_released_chars = len(shown)

    def add(self, token: TokenSampled) -> None:
        """Buffer one more token."""
        if self.is_over:
            return
        self.num_tokens += 1
        self._buffered.append(token)
        if token.id not in self._stop_ids:
            self._pending += self._detokenizer.add(token.piece)
            self._cut_at_stop()
        self.is_repeating = self._repetition is not None and self._repetition.add(token.id)

    @property
    def is_over(self) -> bool:
        """True when no further token belongs to the answer."""
        return self.is_stopped or self.is_blocked or self.is_repeating

    def add_note(self, event: AnyEvent) -> None:
        """Buffer an event that describes the next tokens."""
        if not self.is_over:
            self._notes.append(event)

    def _cut_at_stop(self) -> None:
        found = [index for text in self._stop if (index := self._pending.find(text)) >= 0]
        if found:
            self._pending = self._pending[: min(found)]
            self.is_stopped = True

    @property
    def is_due(self) -> bool:
        """True when enough tokens are buffered for a check, and all of them could be released."""
        if self.is_stopped or self.is_repeating:
            return True
        if not self._buffered or not self._detokenizer.is_whole or self._num_waiting_chars:
            return False
        release: Release = self._guard.release
        enough = release.every_tokens if self._num_released_tokens else release.first_tokens
        return len(self._buffered) >= enough or bool(_ENDS_SENTENCE.search(self._pending))

    @property
    def _num_waiting_chars(self) -> int:
        """Return the length of the pending text's end that may become a stop text."""
        return num_waiting_chars(self._pending, self._stop)

    def flush(self) -> list[AnyEvent]:
        """Return the events to append at the end: everything still buffered, checked."""
        if not (self.is_stopped or self.is_blocked):
            self._pending += self._detokenizer.flush()
        return self.release()

    def propose(self, proposed: TokenProposed) -> list[AnyEvent]:
        """Step mode: return all buffered events, and the proposed token unless its text would be withheld."""
        events = self._release(0 if self.is_stopped else self._num_waiting_chars) if self._buffered else []
        if self.is_over:
            return events
        text = self._pending + proposed.token.piece.decode(errors="ignore")
        checks = self._checks(text, [proposed.token])
        if not self.is_blocked:
            return [*events, proposed]
        self.num_tokens += 1
        return [*events, *checks]

    def release(self) -> list[AnyEvent]:
        """Check the buffered tokens; returns the events to append: tokens, check and text, or check and withheld."""
        return self._release(0) if self._buffered else self._left_over()

    def _release(self, num_waiting_chars: int) -> list[AnyEvent]:
        buffered, self._buffered = self._buffered, []
        text = self._pending
        # A token's event shows all of its text, also the end that may become a stop text.
        checks = self._checks(text, buffered)
        if self.is_blocked:
            return checks
        end = len(text) - num_waiting_chars
        self._pending = text[end:]
        return self._passed(buffered, text[:end], checks)

    def _left_over(self) -> list[AnyEvent]:
        """Return text that waited because it could have become a stop text, and that no token followed."""
        if self.is_blocked or not self._pending:
            return []
        text, self._pending = self._pending, ""
        return [TextReleased(at=self._clock.at(), text=text, num_tokens=self._num_released_tokens)]

    def _checks(self, text: str, tokens: Sequence[TokenSampled]) -> list[AnyEvent]:
        """Check the open sentence with these tokens' text; returns the check, and a withheld event if it blocks."""
        if not text.strip() or not self._is_guarded:
            return []
        # An answer's first words often equal another answer's; the following text hardly ever does.
        principal = self._principal if self._num_released_chars == 0 else None
        check = self._guard.check(self._sentence + text, "output", principal)
        now, num_chars = self._clock.at(), self._num_released_chars
        event = check.event(now, "output", num_chars - len(self._sentence), num_chars + len(text), now - tokens[0].at)
        if check.verdict != "block":
            return [event]
        self.is_blocked = True
        self._pending = ""
        withheld = TextWithheld(at=now, num_tokens=len(tokens), category=check.category, replacement=check.replacement)
        return [event, withheld]

    def _begin_sentence(self, text: str) -> None:
        """Set the sentence that is still open after the text."""
        if not self._sentence and self._num_released_chars:
            text = text.lstrip()  # white space after the last sentence belongs to it
        self._sentence = _SENTENCE_END.split(self._sentence + text)[-1]

    def _passed(self, buffered: list[TokenSampled], text: str, checks: list[AnyEvent]) -> list[AnyEvent]:
        self._begin_sentence(text)
        self._num_released_chars += len(text)
        self._num_released_tokens += len(buffered)
        released = TextReleased(at=self._clock.at(), text=text, num_tokens=self._num_released_tokens)
        notes, self._notes = self._of_answer(self._notes), []
        return [*sorted([*notes, *buffered], key=lambda event: event.at), *checks, released]

    def _of_answer(self, notes: list[AnyEvent]) -> list[AnyEvent]:
        """Return the notes without guesses of tokens after the answer's end."""
        if not (self.is_stopped or self.is_repeating):
            return notes
        cut = (
            _cut(note, self._num_kept_tokens + self.num_tokens) if isinstance(note, DraftVerified) else note
            for note in notes
        )
        return [note for note in cut if note is not None]


def _cut(draft: DraftVerified, num_tokens: int) -> DraftVerified | None:
    """Return the draft cut to the answer's first num_tokens; None when it begins after them."""
    num_left = num_tokens - draft.position
    if num_left <= 0:
        return None
    num_accepted = min(draft.num_accepted, num_left)
    ids, pieces = draft.ids[:num_left], draft.pieces[:num_left]
    return msgspec.structs.replace(draft, ids=ids, pieces=pieces, num_accepted=num_accepted)
