"""A sequence in the engine with its sampler, its drafter and its unreported events. Knows nothing of steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inference.engine import record
from inference.engine.drafting.draft import Drafter
from inference.engine.scheduling.sequence import Sequence
from inference.engine.step_output import StepOutput
from inference.protocol.events import AnyEvent
from inference.sampling.sampler import Sample, Sampler
from inference.sampling.vocabulary import Summary


class Row(NamedTuple):
    """The logits from which one token is sampled."""

    logits: NDArray[np.float32]  # [vocab_size]
    summary: Summary


class Proposal(NamedTuple):
    """A token that waits for a person's choice."""

    events: list[AnyEvent]
    """The token's events; the token itself is the last."""
    logits: NDArray[np.float32]  # [vocab_size]


@dataclass
class Slot:
    """One sequence and all that the engine keeps for it."""

    sequence: Sequence
    sampler: Sampler
    drafter: Drafter = field(default_factory=Drafter)
    events: list[AnyEvent] = field(default_factory=list)
    """Events of the current step."""
    batch: record.Batch | None = None
    """The other sequences in its batch, as last recorded in its log."""
    has_evicted: bool = False
    """Its log tells already that blocks made room for it."""
    proposal: Proposal | None = None
    """Step mode: the token that waits to be taken."""

    def sample(self, row: Row) -> Sample | Exception:
        """Return the next token, or the reason why there is none. A second call would give the same."""
        try:
            return self.sampler.sample(row.logits, self.sequence.answer_ids, row.summary)
        except Exception as error:
            return error

    def await_mask(self) -> None:
        """Wait: the step counts for nothing, and its last token is computed again once the mask is there."""
        self.sequence.is_awaiting_mask, self.sequence.drafts = True, ()

    def resume(self) -> None:
        """Go on if the mask that was late is there."""
        self.sequence.is_awaiting_mask = self.sequence.is_awaiting_mask and not self.sampler.is_ready()

    @property
    def is_idle(self) -> bool:
        """True: a step would do nothing for it, as it waits for a person's choice or for its mask."""
        return self.sequence.is_paused or (self.sequence.is_awaiting_mask and not self.sampler.is_ready())

    @property
    def num_guessable(self) -> int:
        """Return the number of tokens to guess at most. In step mode no token runs ahead of the chosen one."""
        request = self.sequence.request
        is_bound = request.is_stepped or not request.may_guess or not self.sampler.may_draft
        return 0 if is_bound else self.sequence.num_free_tokens - 1  # the last token needs no guess after it

    def report(self) -> StepOutput:
        """Return the step's output and clear its events."""
        sequence = self.sequence
        events, self.events = self.events, []
        return StepOutput(
            request_id=sequence.request.request_id,
            events=events,
            usage=sequence.usage(),
            finish_reason=sequence.finish_reason,
            message=sequence.message,
            code=sequence.failure_code,
            prefill_us=sequence.prefill_us,
            decode_us=sequence.decode_us,
        )


class Slots(dict[str, Slot]):
    """All sequences in the engine, by request id."""

    def of(self, sequence: Sequence) -> Slot:
        return self[sequence.request.request_id]
