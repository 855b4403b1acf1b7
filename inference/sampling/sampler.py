"""The sampler: logits processors that narrow one token's distribution, then the draw. Knows nothing of models.

First, processors change logits (processors.py), which fixes the order of the candidates. Then others choose among
candidates (candidates.py), and each leaves a run of that order. Passes over a whole vocabulary are in vocabulary.py;
most tokens need one such pass, made for all rows of a step at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import msgspec
import numpy as np
from numpy.typing import NDArray

from inference.protocol.events import ProcessorEffect
from inference.protocol.request import SamplingParams
from inference.protocol.thinking import Thinking
from inference.sampling import vocabulary
from inference.sampling.candidates import BeyondSorted, Candidates, Choice
from inference.sampling.draw import uniform
from inference.sampling.dry import Piece
from inference.sampling.errors import NonFiniteLogits, SamplingFailed
from inference.sampling.processors import Grammar, GrammarMask, LogitsProcessor, OnlyToken, build_processors
from inference.sampling.thinking import Cause, Forced, ThinkingControl
from inference.sampling.vocabulary import Summarise, Summary

NUM_SORTED = 128
"""Candidates that are sorted at first: the draw is nearly always among them, and they cost little to find."""

_MORE_SORTED = 16
"""Factor by which the number of sorted candidates grows when they were too few."""

MIN_TEMPERATURE = 1e-3
"""A lower temperature is greedy: dividing by it would magnify the logits' own rounding into differences."""

Row = NDArray[np.float32]


def _no_piece(_token: int) -> bytes:
    return b""


class Sample(msgspec.Struct, frozen=True, gc=False):
    """The chosen token and all that is recorded of the choice; see events.TokenSampled."""

    id: int
    logprob: float
    rank: int
    entropy: float
    u: float | None
    low: float
    high: float
    log_normalizer: float
    candidate_ids: tuple[int, ...]
    candidate_logits: tuple[float, ...]
    processors: tuple[ProcessorEffect, ...]
    grammar_us: int | None
    """Duration of the grammar's mask; None without a grammar."""
    forced_by: Cause | None = None
    """The token belongs to the tag by which the model's thinking was ended; None: it does not."""


class Sampler:
    """Applies one sequence's parameters, token by token; the same logits give the same tokens."""

    def __init__(
        self,
        params: SamplingParams,
        prompt: Sequence[int] = (),
        num_candidates: int = 20,
        grammar: Grammar | None = None,
        summarise: Summarise = vocabulary.summarise,
        piece: Piece = _no_piece,
        thinking: Thinking | None = None,
    ) -> None:
        """piece: returns a token's bytes, in which DRY's breakers are found. thinking: may come before the answer."""
        self._params = params
        self._num_candidates = num_candidates
        self._thinking = _control(thinking, params, piece, must_think=grammar is not None)
        self._processors = build_processors(params, prompt, piece, grammar, self._thinking)
        self._grammar = next((each for each in self._processors if isinstance(each, GrammarMask)), None)
        self._summarise = summarise
        self._is_greedy = params.temperature < MIN_TEMPERATURE
        self._temperature = 1.0 if self._is_greedy else params.temperature
        self.summary_temperature = 1.0 if self._processors else self._temperature
        """The temperature with which to summarise this sequence's rows."""

    def sample(self, logits: Row, output: Sequence[int], summary: Summary | None = None) -> Sample:
        """Choose the token after `output`, the tokens generated so far.

        logits: [vocab_size] float32, not modified. summary: of this row at summary_temperature, with at least
        num_candidates sorted, where the caller has it already. Raises SamplingFailed, MaskPending.
        """
        raw = summary or self._summarise_row(logits, self.summary_temperature, NUM_SORTED)
        if not raw.is_finite:
            raise NonFiniteLogits("the model returned NaN or infinite logits")
        forced = self._thinking.forced(output) if self._thinking else None
        processors = self._processors_for(output, forced)
        rows = _process(processors, logits, output)
        is_raw = not processors and self.summary_temperature == self._temperature
        ordered = raw if is_raw else self._summarise_row(rows[-1], self._temperature, NUM_SORTED)
        if not ordered.num_candidates:
            raise SamplingFailed("no token is left: allow more, or ban fewer tokens")
        u = None if self._is_greedy else uniform(self._params.seed or 0, len(output))
        ordered, choice, cuts = self._choose(rows[-1], ordered, u)
        sample = self._record(processors, rows, raw, ordered, choice, cuts, u)
        return sample if forced is None else msgspec.structs.replace(sample, forced_by=forced.by)

    def answer_now(self) -> None:
        """End the model's thinking, if it thinks."""
        if self._thinking:
            self._thinking.answer_now()

    def _processors_for(self, output: Sequence[int], forced: Forced | None) -> list[LogitsProcessor]:
        if forced is not None:
            return [OnlyToken(forced.id)]
        if self._grammar is None or self._grammar.applies(output):
            return self._processors
        return [each for each in self._processors if each is not self._grammar]

    def prepare(self, output: Sequence[int]) -> None:
        """Begin what the token after `output` needs, beside the computation of its logits."""
        if self._grammar:
            self._grammar.prepare(output)

    def is_ready(self) -> bool:
        """Return whether `sample` would not raise MaskPending."""
        return self._grammar is None or self._grammar.is_ready()

    @property
    def may_draft(self) -> bool:
        """Return whether `sample` waits for a mask that is begun at that moment, as the mask after a draft is."""
        return self._grammar is None or self._grammar.is_waited_for

    def _summarise_row(self, row: Row, temperature: float, num_sorted: int) -> Summary:
        return self._summarise(row[None], (temperature,), num_sorted)[0]

    def _choose(self, row: Row, ordered: Summary, u: float | None) -> tuple[Summary, Choice, list[ProcessorEffect]]:
        """Return a summary that reaches far enough, the choice, and the effects among candidates."""
        if u is None:
            return ordered, Choice(0, 0.0, 1.0), []
        while True:
            candidates = Candidates(ordered, self._temperature)
            try:
                candidates.cut(self._params)
                return ordered, candidates.draw(u), candidates.effects
            except BeyondSorted:
                ordered = self._summarise_row(row, self._temperature, len(ordered.ids) * _MORE_SORTED)

    def _record(
        self,
        processors: Sequence[LogitsProcessor],
        rows: list[Row],
        raw: Summary,
        ordered: Summary,
        choice: Choice,
        cuts: list[ProcessorEffect],
        u: float | None,
    ) -> Sample:
        logits, chosen = rows[0], int(ordered.ids[choice.index])
        ids = ordered.ids[: self._num_candidates]
        if choice.index >= self._num_candidates:
            ids = np.append(ids, ordered.ids[choice.index])
        effects = cuts
        if processors:
            changes = self._changes(processors, rows, raw, ordered, ids)
            effects = changes + cuts
            masked = [token for effect in changes for token in effect.masked]
            ids = np.append(ids, np.array(masked, np.int32))
        return Sample(
            id=chosen,
            logprob=float(logits[chosen]) - raw.log_normalizer,
            rank=_rank(logits, raw, chosen),
            entropy=raw.entropy,
            u=u,
            low=choice.low,
            high=choice.high,
            log_normalizer=raw.log_normalizer,
            candidate_ids=tuple(ids.tolist()),
            candidate_logits=_rounded(logits[ids]),
            processors=tuple(effects),
            grammar_us=self._grammar.duration_us if self._grammar and self._grammar in processors else None,
        )

    def _changes(
        self,
        processors: Sequence[LogitsProcessor],
        rows: list[Row],
        raw: Summary,
        ordered: Summary,
        ids: NDArray[np.int32],
    ) -> list[ProcessorEffect]:
        """Return each processor's effect."""
        effects: list[ProcessorEffect] = []
        first, log_normalizer, num_left = raw.ids[: self._num_candidates], raw.log_normalizer, len(rows[0])
        for processor, before, after in zip(processors, rows[:-1], rows[1:], strict=True):
            previous = log_normalizer
            log_normalizer = ordered.log_normalizer if after is rows[-1] else vocabulary.log_sum_exp(after)
            if processor.is_mask:
                num_left = int(np.count_nonzero(after > -np.inf))
            is_masked = (after[first] == -np.inf) & (before[first] > -np.inf)
            effect = ProcessorEffect(
                name=processor.name,
                num_candidates=num_left,
                mass=min(exp(log_normalizer - previous), 1.0) if processor.is_mask else 1.0,
                log_normalizer=log_normalizer,
                logits=None if processor.is_mask else _rounded(after[ids]),
                masked=tuple(first[is_masked].tolist()),
            )
            effects.append(effect)
        return effects


def _control(
    thinking: Thinking | None, params: SamplingParams, piece: Piece, must_think: bool
) -> ThinkingControl | None:
    """must_think: a grammar could not tell the tag that begins the thinking from the answer."""
    if thinking is None:
        return None
    budget = params.thinking_tokens
    return ThinkingControl(thinking, budget, piece, must_think=must_think and budget != 0)


def _process(processors: Sequence[LogitsProcessor], logits: Row, output: Sequence[int]) -> list[Row]:
    """Return the original logits, then those after each processor."""
    rows = [logits]
    for processor in processors:
        row = rows[-1].copy()
        processor.process(row, output)
        rows.append(row)
    return rows


def _rank(logits: Row, raw: Summary, chosen: int) -> int:
    """Return the rank by the model's own logits, from 1."""
    logit = logits[chosen]
    if logit >= raw.logits[-1]:
        return 1 + int(np.count_nonzero(raw.logits > logit))
    return vocabulary.rank(logits, chosen)


def _rounded(logits: Row) -> tuple[float, ...]:
    """Return the logits with four decimals, as they are recorded. No zero is negative: a saved trace packs it badly."""
    return tuple((np.rint(logits * np.float64(1e4)) / 1e4 + 0.0).tolist())
