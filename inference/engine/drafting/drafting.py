"""Guesses ahead for all decoding sequences of a step where that pays. Knows nothing of how guesses are verified."""

from __future__ import annotations

import logging
import time

from inference.engine.drafting.draft import NO_GUESSES, GuessCosts, guess_costs
from inference.engine.drafting.draft_model import DraftModel
from inference.engine.drafting.step_costs import StepCosts
from inference.engine.memory_errors import is_out_of_memory
from inference.engine.scheduling.scheduler import Scheduler
from inference.engine.scheduling.sequence import Sequence
from inference.engine.slot import Slots
from inference.protocol.events import DraftSource

logger = logging.getLogger(__name__)


class Drafting:
    """The engine's guesses: from each text itself, or by a draft model where one is given."""

    def __init__(
        self, scheduler: Scheduler, slots: Slots, costs: StepCosts, model: DraftModel | None, is_on: bool
    ) -> None:
        self._is_on = is_on
        self._scheduler = scheduler
        self._slots = slots
        self._costs = costs
        self._model = model

    @property
    def source(self) -> DraftSource:
        return "draft_model" if self._model else "ngram"

    def forget(self, sequence: Sequence) -> None:
        """Drop the state of a sequence that has lost its blocks or ended."""
        if self._model:
            self._model.forget(sequence.request.request_id)

    def draft(self) -> int | None:
        """Give each sequence its guesses. Return the time at which a draft model began (the step's start), or None."""
        decoding = self._scheduler.decoding if self._is_on and self._scheduler.has_room_for_drafts else []
        costs = self._guess_costs(len(decoding))
        slots = map(self._slots.of, decoding)
        wanted = [(slot.sequence, slot.drafter.num_wanted(slot.num_guessable, costs)) for slot in slots]
        if self._model is None:
            for sequence, num_wanted in wanted:
                sequence.drafts = self._slots.of(sequence).drafter.look_up(sequence.ids, num_wanted)
            return None
        start_ns = time.perf_counter_ns()
        asked = [(sequence, num_wanted) for sequence, num_wanted in wanted if num_wanted]
        guesses = self._guess(self._model, asked) if asked else {}
        for sequence, _ in wanted:
            sequence.drafts = guesses.get(sequence.request.request_id, ())
        return start_ns if asked else None

    def _guess_costs(self, num_decoding: int) -> GuessCosts:
        if not num_decoding:
            return NO_GUESSES
        guess_us = self._model.us_per_guess(num_decoding) if self._model else 0.0
        return guess_costs(num_decoding, self._costs, guess_us)

    def _guess(self, model: DraftModel, wanted: list[tuple[Sequence, int]]) -> dict[str, tuple[int, ...]]:
        """Return the draft model's guesses. After any error of the model the step goes on without them."""
        try:
            return model.propose(wanted)
        except Exception as error:
            if is_out_of_memory(error):
                logger.warning("no memory to guess ahead: %s", error)
            else:
                logger.exception("the draft model failed; prompt lookup takes its place")
                self._model = None
            return {}
