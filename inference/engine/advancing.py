"""Advances a sequence by a step's results: its chunk, its token, its drafts. Knows nothing of other sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from inference.engine import record
from inference.engine.computing import Results
from inference.engine.memory_errors import is_out_of_memory
from inference.engine.record import PieceSource, StepFacts
from inference.engine.scheduling.sequence import Status
from inference.engine.slot import Slot
from inference.engine.stepping import propose
from inference.protocol.events import AnyEvent, DraftSource
from inference.sampling.errors import MaskPending
from inference.sampling.sampler import Sample


class _Taken(NamedTuple):
    """The tokens that a sequence took from one step."""

    events: list[AnyEvent]
    num_accepted: int
    """Drafts that proved to be the tokens sampled."""
    trouble: Exception | None
    """The reason why the token after them could not be sampled."""


@dataclass(frozen=True)
class Advance:
    """One sequence's part of a step, to be applied once."""

    slot: Slot
    results: Results
    facts: StepFacts
    pieces: PieceSource
    draft_source: DraftSource

    def apply(self) -> None:
        """Raises what went wrong with this sequence."""
        share, sequence = self.results.share, self.slot.sequence
        if isinstance(self.results.first, MaskPending):
            self.slot.await_mask()
            return
        was_prefilling = sequence.is_prefilling
        sequence.advance(share.num_tokens)
        if was_prefilling:
            sequence.prefill_us += self.facts.step_us
            self.slot.events.append(record.prefilled(share, self.facts))
        else:
            sequence.decode_us += self.facts.step_us
        if sequence.status is Status.RUNNING and self.results.first is not None:
            if sequence.is_prewarming:
                sequence.finish("length")
            else:
                self._accept()

    def _accept(self) -> None:
        """Accept the first token, and one more for each draft that proves to be the token sampled."""
        slot, sequence, first = self.slot, self.slot.sequence, self.results.first
        at, position = sequence.clock.at(), len(sequence.answer_ids)
        if isinstance(first, Sample) and sequence.request.is_stepped and not sequence.may_take():
            propose(slot, record.sampled(sequence, first, self.facts, self.pieces), self.results.rows[0].logits)
            return
        drafts, (events, num_accepted, trouble) = self.results.share.drafts, self._take_tokens()
        if trouble is not None and num_accepted and _passes(trouble):
            trouble, drafts = None, drafts[:num_accepted]  # the others will be guessed again
        if sequence.status is not Status.RUNNING:
            drafts = drafts[: len(sequence.answer_ids) - position]  # nothing comes after its end
        if drafts:
            slot.drafter.verified(len(drafts), num_accepted)
            slot.events.append(record.verified(at, position, drafts, num_accepted, self.pieces, self.draft_source))
        slot.events += events
        if trouble is not None:
            raise trouble

    def _take_tokens(self) -> _Taken:
        """Sample and accept until a draft is wrong, drafts run out or the sequence ends."""
        slot, sequence, drafts = self.slot, self.slot.sequence, self.results.share.drafts
        events: list[AnyEvent] = []
        sample, num_accepted = self.results.first, 0
        while isinstance(sample, Sample):
            events += record.sampled(sequence, sample, self.facts, self.pieces)
            sequence.accept(sample.id)
            if num_accepted == len(drafts) or sample.id != drafts[num_accepted]:
                break
            num_accepted += 1
            if sequence.status is not Status.RUNNING:
                break
            sample = slot.sample(self.results.rows[num_accepted])
            if isinstance(sample, Sample):
                sequence.advance(1)
        if sequence.status is Status.RUNNING:
            slot.sampler.prepare(sequence.answer_ids)
        return _Taken(events, num_accepted, sample if isinstance(sample, Exception) else None)


def _passes(trouble: Exception) -> bool:
    """Return whether the token can be sampled in another step."""
    return isinstance(trouble, MaskPending) or is_out_of_memory(trouble)
