"""Buffers generated tokens until their text may be seen. Knows nothing of the engine or the log.

Tokens are buffered together with their text and their events. A check releases them, with personal data and secrets
replaced, or withholds all of them. An end that may still become such data waits for the tokens that follow.
Nothing that is buffered is in the log, so withheld text never leaves this process.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from math import inf

import msgspec

from inference.eventlog.clock import Clock
from inference.protocol.events import (
    AnyEvent,
    DraftVerified,
    SafetyChecked,
    TextReleased,
    TextWithheld,
    ThinkingReleased,
    TokenProposed,
    TokenSampled,
)
from inference.protocol.safety_policy import Release
from inference.protocol.thinking import Part, Thinking
from inference.safety import Guard
from inference.safety.findings import Finding
from inference.safety.guard import Scan
from inference.safety.sentences import open_part
from inference.tokenization.detokenizer import Detokenizer
from inference.tokenization.stop_texts import num_waiting_chars
from inference.worker.held_text import Held, num_before, share_character, shifted, without_found
from inference.worker.refusal_watch import RefusalWatch
from inference.worker.repetition import Repetition
from inference.worker.thought_text import ThinkingFigures, ThoughtText, rewritten_parts

_SENTENCE_END = re.compile(r"[.!?\n]\s*")
_ENDS_SENTENCE = re.compile(_SENTENCE_END.pattern + "$")
_CONTEXT_CHARS = 400
"""Released text that is looked at again with the next, for data that began in it."""


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
        thinking: Thinking | None = None,
    ) -> None:
        """repetition: a detector that has read the tokens taken over; None: the answer may repeat itself.

        thinking: may come before the answer.
        """
        self._guard = guard
        self._clock = clock
        self._stop = stop
        self._stop_ids = stop_ids
        self._is_guarded = is_guarded
        self._principal = principal
        self._repetition = repetition
        self._detokenizer = Detokenizer()
        self._buffered: list[Held] = []
        self._notes: list[AnyEvent] = []
        self._pending = ""
        self._after_stop = ""
        """Text behind the stop text: not of the answer, but in its last token."""
        self._context = ""
        """The end of the released text."""
        self._thoughts = ThoughtText(thinking)
        self._figures = ThinkingFigures()
        self._is_stepped = False
        self._refusal = RefusalWatch(clock, is_guarded)
        self._num_released_chars = 0
        """Of the thinking, or of the answer once that has begun."""
        self._sentence = ""
        """The released part of the sentence that the next text belongs to, from its last open window on.

        So the time of a check does not grow with a sentence that never ends.
        """
        self._num_released_tokens = 0
        self._num_kept_tokens = 0
        self._taken_over = (0, 0)
        """Characters of the thinking and of the answer that were shown before."""
        self.num_tokens = 0
        """Tokens generated that belong to the answer: released, buffered or withheld."""
        self.is_stopped = False
        """A stop text was found: the answer is complete."""
        self.is_repeating = False
        """The last tokens repeat one cycle of tokens: the answer must end with them."""
        self.is_blocked = False
        """Text was withheld: the answer must end."""

    def resume(self, tokens: Sequence[TokenSampled], shown: str, num_withheld: int, thought: str = "") -> None:
        """Continue this answer after `tokens`, which an earlier attempt released. Call it after `keep`.

        shown, thought: all text of answer and thinking that is shown. num_withheld: tokens whose text was withheld;
        with any, the answer is over.
        """
        pieces = [token.piece for token in tokens if token.id not in self._stop_ids]
        self._append("".join(map(self._detokenizer.add, pieces)))
        self._take_over(shown, thought)
        self._figures.resume(tokens, is_over=self._thoughts.answer_start is not None)
        self._num_released_tokens = len(tokens)
        self.num_tokens = len(tokens) + num_withheld
        self.is_blocked = num_withheld > 0
        for token in tokens:
            number = -1 - token.position if token.is_withheld else token.id
            self.is_repeating = self._repetition is not None and self._repetition.add(number)
        self._cut_at_stop()

    def keep(self, pieces: Sequence[bytes], shown: str, thought: str = "") -> None:
        """Continue an answer taken over from elsewhere, of which the text `shown` was checked and is shown.

        thought: the thinking before it, checked and shown too.

        An end that may still become a stop text, and an unfinished character, wait for the tokens that follow.
        """
        self._num_kept_tokens = len(pieces)
        self._append("".join(map(self._detokenizer.add, pieces)))
        self._take_over(shown, thought)

    def _append(self, text: str) -> None:
        self._pending += text
        self._thoughts.add(text)

    def _take_over(self, shown: str, thought: str) -> None:
        """Go on after text that is shown already."""
        before, self._taken_over = self._taken_over, (len(thought), len(shown))
        num_chars = self._thoughts.num_shown(len(thought) - before[0], len(shown) - before[1])
        taken, self._pending = self._pending[:num_chars], self._pending[num_chars:]
        self._thoughts.take(taken)
        is_answer = self._thoughts.answer_start is not None
        self._begin_sentence(taken[-len(shown) :] if is_answer else taken)
        self._context = (shown if is_answer else thought)[-_CONTEXT_CHARS:]
        self._refusal.resume(shown)
        self._num_released_chars = len(shown if is_answer else thought)

    def add(self, token: TokenSampled) -> None:
        """Buffer one more token."""
        if self.is_over:
            return
        self.num_tokens += 1
        start = len(self._pending)
        if token.id not in self._stop_ids:
            self._append(self._detokenizer.add(token.piece))
        self._buffered.append(Held(token, start, len(self._pending) + (not self._detokenizer.is_whole)))
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
        if found := self._stop_places():
            self._after_stop = self._pending[min(found) :]
            self._pending = self._pending[: min(found)]
            self._thoughts.cut(min(found))
            self.is_stopped = True

    def _stop_places(self) -> list[int]:
        """The places of stop texts. No thinking is stopped by one."""
        start = self._thoughts.answer_start
        if start is None:
            return []
        return [index for text in self._stop if (index := self._pending.find(text, start)) >= 0]

    @property
    def is_due(self) -> bool:
        """True when enough tokens are buffered for a check, and all of them could be released."""
        if self.is_stopped or self.is_repeating:
            return True
        if not self._buffered or not self._detokenizer.is_whole or self._num_waiting_chars:
            return False
        release: Release = self._guard.release
        num = self._num_ready(self._scan())
        enough = release.every_tokens if self._num_released_tokens else release.first_tokens
        text = self._text_of(num)
        return num > 0 and (num >= enough or self._thoughts.thinking_end > 0 or bool(_ENDS_SENTENCE.search(text)))

    @property
    def _num_waiting_chars(self) -> int:
        """Return the length of the pending text's end that may become a stop text, or a tag of thinking."""
        start = self._thoughts.answer_start
        return self._thoughts.num_undecided if start is None else num_waiting_chars(self._pending[start:], self._stop)

    @property
    def is_thinking(self) -> bool:
        """True: the last tokens belong to the thinking."""
        return self._thoughts.is_thinking and not self.is_over

    def flush(self) -> list[AnyEvent]:
        """Return the events to append at the end: everything still buffered, checked."""
        if not (self.is_stopped or self.is_blocked):
            self._append(self._detokenizer.flush())
        events: list[AnyEvent] = []
        while self._buffered and not self.is_blocked:
            events += self._release(0, is_last=True)
        return [*events, *self._left_over(), *self._figures.end(self._clock.at(), is_cut=True)]

    def propose(self, proposed: TokenProposed) -> list[AnyEvent]:
        """Step mode: return all buffered events, and the proposed token unless its text would be withheld."""
        self._is_stepped = True
        events: list[AnyEvent] = []
        while self._buffered and not self.is_blocked:
            events += self._release(0 if self.is_stopped else self._num_waiting_chars)
        if self.is_over:
            return events
        text = self._pending + proposed.token.piece.decode(errors="ignore")
        checks = self._checks(text, self._scan(text), [proposed.token])
        if not self.is_blocked:
            return [*events, proposed]
        self.num_tokens += 1
        return [*events, *checks]

    def release(self) -> list[AnyEvent]:
        """Check the buffered tokens that are complete; returns the events to append."""
        return self._release(0) if self._buffered else self._left_over()

    def _release(self, num_waiting_chars: int, is_last: bool = False) -> list[AnyEvent]:
        if is_last or self.is_over:
            self._thoughts.end()
        scan = self._scan()
        num = len(self._buffered) if is_last or self.is_over or self._is_stepped else self._num_ready(scan)
        num = min(num, self._num_thinking() or num)
        ready, held = self._buffered[:num], self._buffered[num:]
        if not ready:
            return self._left_over() if is_last else []
        # A token's event shows all of its text, also the end that may become a stop text.
        text = self._text_of(num)
        found = [each for each in scan.findings if each.start < len(text)]
        checks = self._checks(text, Scan(tuple(found), len(text)), [each.token for each in self._buffered])
        self._buffered = held
        if self.is_blocked:
            return checks
        end = len(text) - (0 if held else num_waiting_chars)
        self._pending = self._pending[end:]
        self._buffered = [shifted(each, end) for each in held]
        return self._passed(ready, text[:end], checks, found)

    def _scan(self, text: str | None = None) -> Scan:
        """Find personal data and secrets in the pending text, by their places in it."""
        text = self._pending + self._after_stop if text is None else text
        if not self._is_guarded or not self._guard.may_withhold("output"):
            return Scan((), len(text))
        offset = len(self._context)
        scan = self._guard.scan(self._context + text)
        found = (
            each._replace(start=max(0, each.start - offset), end=each.end - offset)
            for each in scan.findings
            if each.end > offset
        )
        return Scan(tuple(found), max(0, scan.open_from - offset))

    def _num_ready(self, scan: Scan) -> int:
        """Return the number of buffered tokens before the first one that must wait, with the guesses that show it."""
        if self._is_stepped:
            return len(self._buffered)
        num = num_before(self._buffered, scan.open_from)
        while num and (cut := self._cut_through(num, scan)) is not None:
            num = cut
        return num

    def _cut_through(self, num: int, scan: Scan) -> int | None:
        """Return a smaller number of tokens, where so many end within a finding, a character or guesses, else None."""
        if num < len(self._buffered) and share_character(self._buffered[num - 1], self._buffered[num]):
            return num - 1
        place = len(self._text_of(num))
        starts = [num_before(self._buffered, each.start) for each in scan.findings if each.start < place < each.end]
        first = self._buffered[0].token.position
        starts += [
            max(0, note.position - first)
            for note in self._notes
            if isinstance(note, DraftVerified) and note.position < first + num < note.position + note.num_accepted
        ]
        return min((each for each in starts if each < num), default=None)

    def _num_thinking(self) -> int:
        """Return the number of buffered tokens of a thinking that is over: they are released before the answer's."""
        end = self._thoughts.thinking_end
        return sum(each.start < end for each in self._buffered)

    def _text_of(self, num: int) -> str:
        """Return the pending text of so many buffered tokens."""
        return self._pending if num == len(self._buffered) else self._pending[: self._buffered[num].start]

    def _left_over(self) -> list[AnyEvent]:
        """Return text that waited because it could have become a stop text, and that no token followed."""
        if self.is_blocked or not self._pending:
            return []
        text, self._pending = self._pending, ""
        self._thoughts.end()
        return self._released(self._thoughts.take(text))

    def _checks(self, text: str, scan: Scan, tokens: Sequence[TokenSampled]) -> list[AnyEvent]:
        """Check the open sentence with these tokens' text; returns the check, and a withheld event if it blocks."""
        if not text.strip() or not self._is_guarded:
            return []
        # An answer's first words often equal another answer's; the following text hardly ever does.
        principal = self._principal if self._num_released_chars == 0 else None
        num_before = len(self._sentence)
        found = [each._replace(start=each.start + num_before, end=each.end + num_before) for each in scan.findings]
        start = self._num_released_chars - num_before
        check = self._guard.check(self._sentence + text, "output", principal, found, start)
        now = self._clock.at()
        event = check.event(now, "output", start, start + len(check.text), now - tokens[0].at)
        # A person has seen the first part of what is complete now, so that there is nothing left to rewrite.
        if check.verdict != "block" and not (self._is_stepped and check.verdict == "rewrite"):
            return [event]
        event = _blocked(event)
        self.is_blocked = True
        self._pending = self._after_stop = ""
        withheld = TextWithheld(at=now, num_tokens=len(tokens), category=check.category, replacement=check.replacement)
        return [event, withheld]

    def _begin_sentence(self, text: str) -> None:
        """Set the sentence that is still open after the text."""
        if not self._sentence and self._num_released_chars:
            text = text.lstrip()  # white space after the last sentence belongs to it
        self._sentence = open_part(_SENTENCE_END.split(self._sentence + text)[-1])

    def _passed(
        self, ready: Sequence[Held], text: str, checks: list[AnyEvent], found: Sequence[Finding]
    ) -> list[AnyEvent]:
        """Return the events of tokens that are released; those of replaced data show the replacement alone."""
        categories = self._guard.rewrites("output") if found else frozenset()
        replaced = [each for each in found if each.category in categories]
        tokens = without_found(ready, text + self._after_stop, replaced)
        parts = rewritten_parts(self._thoughts.take(text), replaced, categories)
        self._num_released_tokens += len(tokens)
        if _has_thinking(parts):
            self._figures.add(tokens)
        notes = self._take_notes({token.position for token in tokens if token.is_withheld})
        told = sorted([*notes, *tokens], key=lambda event: event.at)
        return [*told, *checks, *self._released(parts)]

    def _released(self, parts: Sequence[Part]) -> list[AnyEvent]:
        """Return the events of text that is shown from now on."""
        thought, answer = ("".join(p.text for p in parts if p.kind == kind) for kind in ("thought", "answer"))
        num, now, events = self._num_released_tokens, self._clock.at(), list[AnyEvent]()
        if is_thinking := _has_thinking(parts):
            self._note_shown(thought)
            events.append(ThinkingReleased(at=now, text=thought, num_tokens=self._figures.num_tokens))
            if self._thoughts.answer_start is not None:
                events += self._figures.end(now)
                self._begin_answer()
        if answer or not is_thinking:
            self._note_shown(answer)
            events.append(TextReleased(at=now, text=answer, num_tokens=num))
        return [*events, *self._refusal.add(answer)]

    def _note_shown(self, text: str) -> None:
        self._begin_sentence(text)
        self._context = (self._context + text)[-_CONTEXT_CHARS:]
        self._num_released_chars += len(text)

    def _begin_answer(self) -> None:
        """Count anew: the answer's text does not go on the thinking's."""
        self._sentence = self._context = ""
        self._num_released_chars = 0

    def _take_notes(self, withheld: Container[int]) -> list[AnyEvent]:
        """Return the notes of released tokens, without guesses that would tell of withheld ones, by their positions."""
        first_held = self._buffered[0].token.at if self._buffered else inf
        notes = [note for note in self._of_answer(self._notes) if note.at < first_held]
        self._notes = [note for note in self._notes if note.at >= first_held]
        return [known for note in notes if (known := self._without_data(note, withheld)) is not None]

    def _without_data(self, note: AnyEvent, withheld: Container[int]) -> AnyEvent | None:
        if not isinstance(note, DraftVerified):
            return note
        if any(note.position + at in withheld for at in range(len(note.ids))):
            return None
        wrong = b"".join(note.pieces[note.num_accepted :]).decode(errors="ignore")
        return _cut(note, note.position + note.num_accepted) if self._scan(wrong).findings else note

    def _of_answer(self, notes: list[AnyEvent]) -> list[AnyEvent]:
        """Return the notes without guesses of tokens after the answer's end."""
        if not (self.is_stopped or self.is_repeating):
            return notes
        cut = (
            _cut(note, self._num_kept_tokens + self.num_tokens) if isinstance(note, DraftVerified) else note
            for note in notes
        )
        return [note for note in cut if note is not None]


def _has_thinking(parts: Sequence[Part]) -> bool:
    return any(part.kind in ("thought", "tag") for part in parts)


def _blocked(event: SafetyChecked) -> SafetyChecked:
    """Return the check as one that blocks: nothing was rewritten."""
    scores = (
        msgspec.structs.replace(each, verdict="block") if each.verdict == "rewrite" else each for each in event.scores
    )
    found = (msgspec.structs.replace(each, is_rewritten=False) for each in event.findings)
    return msgspec.structs.replace(event, verdict="block", scores=tuple(scores), findings=tuple(found))


def _cut(draft: DraftVerified, num_tokens: int) -> DraftVerified | None:
    """Return the draft cut to the answer's first num_tokens; None when it begins after them."""
    num_left = num_tokens - draft.position
    if num_left <= 0:
        return None
    num_accepted = min(draft.num_accepted, num_left)
    ids, pieces = draft.ids[:num_left], draft.pieces[:num_left]
    return msgspec.structs.replace(draft, ids=ids, pieces=pieces, num_accepted=num_accepted)
