"""Guesses a sequence's next tokens from its own text, and decides how many pay. Knows nothing of models or sampling.

Prompt lookup is the n-gram case of speculative decoding (arXiv 2302.01318). When the last few tokens have occurred
before, the tokens that followed them are the draft. The model checks all of a draft in one pass. A guess is kept while
the sampler, with that position's own draw, would have chosen it anyway. So the answer does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.engine.drafting.step_costs import StepCosts

_SIZES = (3, 2)
"""Lengths of the n-grams looked for, longest first."""
MAX_DRAFTS = 8
_TRIAL_DRAFTS, _TRIAL_ROWS = 2, 8
"""Guesses tried to learn a row's cost: by each sequence, and by all together."""
_MEMORY = 0.98
"""Share of a sequence's record that each token leaves. A sequence that stopped drafting tries again after about 100."""
_PRIOR_TRIED, _PRIOR_ACCEPTED = 2.0, 0.8
"""The record starts as if two guesses had been tried."""


class NgramIndex:
    """The place where each n-gram of a growing text was last continued."""

    def __init__(self) -> None:
        self._continued_at: dict[tuple[int, ...], int] = {}
        self._num_indexed = 1

    def propose(self, ids: Sequence[int], num_tokens: int) -> tuple[int, ...]:
        """Return the tokens that followed the end of ids when it last occurred. ids may only grow from call to call."""
        self._index(ids)
        for size in _SIZES:
            start = self._continued_at.get(tuple(ids[-size:]))
            if start is not None and len(ids) > size:
                return _continuation(ids, start, num_tokens)
        return ()

    def _index(self, ids: Sequence[int]) -> None:
        for end in range(self._num_indexed, len(ids)):
            for size in _SIZES:
                if end >= size:
                    self._continued_at[tuple(ids[end - size : end])] = end
        self._num_indexed = max(self._num_indexed, len(ids))


def _continuation(ids: Sequence[int], start: int, num_tokens: int) -> tuple[int, ...]:
    """Return num_tokens from start on. A text that has run out is assumed to go on repeating itself."""
    period = len(ids) - start
    return tuple(ids[start + index % period] for index in range(num_tokens))


class Drafter:
    """One sequence's guesses and their record."""

    def __init__(self) -> None:
        self._index = NgramIndex()
        self._num_tried = _PRIOR_TRIED
        self._num_accepted = _PRIOR_ACCEPTED

    @property
    def acceptance(self) -> float:
        """The share of right guesses, among guesses that follow only right ones."""
        return self._num_accepted / self._num_tried

    def num_wanted(self, num_free: int, costs: GuessCosts) -> int:
        """Return the number of guesses that pay, at most num_free. Call this once per step."""
        length = best_length(self.acceptance, costs)
        self._forget()
        return max(0, min(num_free, length))

    def look_up(self, ids: Sequence[int], num_tokens: int) -> tuple[int, ...]:
        """Return num_tokens guesses from the text itself, or none where it does not repeat itself."""
        return self._index.propose(ids, num_tokens) if num_tokens else ()

    def _forget(self) -> None:
        self._num_tried = _PRIOR_TRIED + _MEMORY * (self._num_tried - _PRIOR_TRIED)
        self._num_accepted = _PRIOR_ACCEPTED + _MEMORY * (self._num_accepted - _PRIOR_ACCEPTED)

    def verified(self, num_drafts: int, num_accepted: int) -> None:
        """Count a checked draft. Guesses after the first wrong one teach nothing."""
        self._num_tried += min(num_drafts, num_accepted + 1)
        self._num_accepted += num_accepted


@dataclass(frozen=True)
class GuessCosts:
    """The cost and saving of guesses in one step, the same for all its sequences."""

    saved_us: float
    """Time saved by a right guess: its token's part of a step of batch_size tokens."""
    costs_us: tuple[float, ...]
    """Costs of 1 to MAX_DRAFTS guesses for one sequence; empty while a row's cost is unknown."""
    num_trial: int
    """Guesses to make in any case, to learn their cost."""


NO_GUESSES = GuessCosts(0.0, (), 0)


def guess_costs(batch_size: int, costs: StepCosts, guess_us: float = 0.0) -> GuessCosts:
    """batch_size: sequences that decode in the step. guess_us: time to guess one token for each of them."""
    step_us, usual_us = costs.decode_us(batch_size), costs.usual_us(batch_size)
    if step_us is None or usual_us is None:
        return NO_GUESSES
    num_trial = min(_TRIAL_DRAFTS, _TRIAL_ROWS // batch_size)
    num_trial = num_trial if num_trial and costs.is_due(batch_size) else 0
    if not costs.is_known:
        return GuessCosts(usual_us / batch_size, (), num_trial)
    rows_us = [(costs.decode_us(batch_size + length) or step_us) - step_us for length in range(1, MAX_DRAFTS + 1)]
    costs_us = (max(0.0, us) + length * guess_us / batch_size for length, us in enumerate(rows_us, 1))
    return GuessCosts(usual_us / batch_size, tuple(costs_us), num_trial)


def best_length(acceptance: float, costs: GuessCosts) -> int:
    """Return the number of guesses that raises the step's tokens per second the most; 0 when none does."""
    best, most, expected, chance = 0, 0.0, 0.0, 1.0
    for length, cost_us in enumerate(costs.costs_us, 1):
        chance *= min(acceptance, 1.0)
        expected += chance
        gain = expected * costs.saved_us - cost_us
        if gain > most:
            best, most = length, gain
    return max(best, costs.num_trial)
