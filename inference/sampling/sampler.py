"""The sampler: a list of stages that narrow one token's distribution, then the draw. Knows nothing of models.

Candidates stand in descending order of their penalised logit, ties by id. Every later stage keeps a prefix of that
order, so a stage's outcome is one number: how many candidates it left. Only the first WORKING_SET are sorted; the full
vocabulary is sorted in the rare case that a stage or the draw reaches beyond them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inference.protocol.events import SamplerStage, StageName
from inference.protocol.request import SamplingParams
from inference.sampling.draw import uniform
from inference.sampling.penalties import penalise

WORKING_SET = 1024
"""Candidates sorted at first: more than nearly every distribution's top 99.9 %, and cheap to find."""

MIN_TEMPERATURE = 1e-3
"""Anything colder is greedy: dividing by it would magnify the logits' own rounding into differences."""

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


class NonFiniteLogits(Exception):
    """The model returned NaN or infinity: this sequence cannot go on."""


@dataclass(frozen=True)
class Sample:
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
    stages: tuple[SamplerStage, ...]


class Sampler:
    """Applies one request's parameters, token by token."""

    def __init__(self, params: SamplingParams, num_candidates: int) -> None:
        self._params = params
        self._num_candidates = num_candidates

    def sample(
        self, logits: NDArray[np.float32], position: int, prompt: Sequence[int], output: Sequence[int]
    ) -> Sample:
        """Choose generated token `position`. logits: [vocab_size] float32, not modified. Raises NonFiniteLogits."""
        if not np.isfinite(logits).all():
            raise NonFiniteLogits("the model returned NaN or infinite logits")
        penalised = penalise(logits, self._params, prompt, output)
        u = None if self._params.temperature < MIN_TEMPERATURE else uniform(self._params.seed or 0, position)
        pool = _Pool(logits if penalised is None else penalised, WORKING_SET)
        choice = self._choose(pool, u, was_penalised=penalised is not None)
        if choice is None:  # a cut or the draw lies beyond the working set
            pool = _Pool(pool.logits, len(logits))
            choice = self._choose(pool, u, was_penalised=penalised is not None)
        assert choice is not None
        return self._record(logits, pool, choice, u)

    def _choose(self, pool: _Pool, u: float | None, was_penalised: bool) -> _Choice | None:
        stages: list[SamplerStage] = []
        if was_penalised:
            shown = tuple(round(float(value), 4) for value in pool.sorted_logits[: self._num_candidates])
            stages.append(_stage("penalties", pool.size, 1.0, pool.log_normalizer, shown))
        if u is None:
            return _Choice(0, 0.0, 1.0, stages)
        return _draw(_Cuts(pool, self._params, stages), u)

    def _record(self, logits: NDArray[np.float32], pool: _Pool, choice: _Choice, u: float | None) -> Sample:
        chosen = int(pool.ids[choice.index])
        shown = pool.ids[: self._num_candidates]
        if choice.index >= self._num_candidates:
            shown = np.append(shown, chosen)
        raw = _log_softmax_parts(logits)
        return Sample(
            id=chosen,
            logprob=float(logits[chosen]) - raw.log_normalizer,
            rank=1 + int((logits > logits[chosen]).sum()),
            entropy=raw.entropy,
            u=u,
            low=choice.low,
            high=choice.high,
            log_normalizer=raw.log_normalizer,
            candidate_ids=tuple(shown.tolist()),
            candidate_logits=tuple(np.round(logits[shown].astype(np.float64), 4).tolist()),
            stages=tuple(choice.stages),
        )


@dataclass(frozen=True)
class _Choice:
    index: int
    low: float
    high: float
    stages: list[SamplerStage]


@dataclass(frozen=True)
class _Parts:
    log_normalizer: float
    entropy: float


def _log_softmax_parts(logits: NDArray[np.float32]) -> _Parts:
    """log-sum-exp and entropy (nats) of the whole vocabulary."""
    top = float(logits.max())
    shifted = logits - np.float32(top)
    weights = np.exp(shifted)
    total = float(weights.sum(dtype=np.float64))
    mean = float(np.dot(weights, shifted)) / total
    return _Parts(top + float(np.log(total)), float(np.log(total)) - mean)


class _Pool:
    """The first candidates of one distribution in candidate order, and the mass of all."""

    def __init__(self, logits: NDArray[np.float32], num_sorted: int) -> None:
        self.logits = logits
        self.size = len(logits)
        self.ids = _first(logits, min(num_sorted, self.size))
        self.sorted_logits: Floats = logits[self.ids].astype(np.float64)

    @property
    def is_whole(self) -> bool:
        return len(self.ids) == self.size

    @property
    def log_normalizer(self) -> float:
        return self.log_normalizer_at(1.0)

    def log_normalizer_at(self, temperature: float) -> float:
        """log-sum-exp of all logits divided by the temperature."""
        top = self.logits.max()
        # The maximum is taken off first: float32 has no digits left for large quotients.
        weights = np.exp((self.logits - top) / np.float32(temperature))
        return float(top) / temperature + float(np.log(weights.sum(dtype=np.float64)))


def _first(logits: NDArray[np.float32], count: int) -> Ids:
    """Ids of the `count` greatest logits, descending, ties by id."""
    if count < len(logits):
        bound = np.partition(logits, len(logits) - count)[len(logits) - count]
        ids = np.flatnonzero(logits >= bound)
    else:
        ids = np.arange(len(logits))
    return ids[np.argsort(-logits[ids], kind="stable")][:count]


class _Cuts:
    """Temperature, top-k, top-p and min-p, each a prefix of the candidates."""

    def __init__(self, pool: _Pool, params: SamplingParams, stages: list[SamplerStage]) -> None:
        self.pool = pool
        self.stages = stages
        self.is_beyond = False
        """Whether a cut lies beyond the sorted candidates."""
        scaled = pool.sorted_logits / params.temperature
        self.log_normalizer = pool.log_normalizer_at(params.temperature)
        self.num_kept = pool.size
        self._scaled = scaled
        if params.temperature != 1:
            stages.append(_stage("temperature", pool.size, 1.0, self.log_normalizer))
        if 0 < params.top_k < pool.size:
            self._keep("top_k", params.top_k)
        if params.top_p < 1:
            self._keep("top_p", self._reach(params.top_p))
        if params.min_p > 0:
            self._keep("min_p", int((scaled >= scaled[0] + np.log(params.min_p)).sum()))

    @property
    def probabilities(self) -> Floats:
        """Of the sorted candidates that are left, under the current normaliser."""
        result: Floats = np.exp(self._scaled[: self.num_kept] - self.log_normalizer)
        return result

    def _reach(self, share: float) -> int:
        """How many candidates it takes for their probability to reach the share."""
        return int(np.searchsorted(np.cumsum(self.probabilities), share)) + 1

    def _keep(self, name: StageName, count: int) -> None:
        if not self.pool.is_whole and count >= len(self._scaled) and self.num_kept > len(self._scaled):
            self.is_beyond = True
            return
        self.num_kept = min(count, self.num_kept)
        mass = float(self.probabilities.sum())
        self.log_normalizer += float(np.log(mass))
        self.stages.append(_stage(name, self.num_kept, min(mass, 1.0), self.log_normalizer))


def _draw(cuts: _Cuts, u: float) -> _Choice | None:
    """The candidate whose interval of the cumulative distribution holds u; None when it is not among the sorted."""
    if cuts.is_beyond:
        return None
    cumulative = np.cumsum(cuts.probabilities)
    index = int(np.searchsorted(cumulative, u, side="right"))
    if index >= len(cumulative):
        if cuts.num_kept > len(cumulative):
            return None
        index = len(cumulative) - 1  # rounding left the last bound a hair below 1
    low = float(cumulative[index - 1]) if index else 0.0
    high = 1.0 if index == cuts.num_kept - 1 else float(cumulative[index])
    return _Choice(index, low, high, cuts.stages)


def _stage(
    name: StageName, num_candidates: int, mass: float, log_normalizer: float, logits: tuple[float, ...] | None = None
) -> SamplerStage:
    return SamplerStage(
        name=name,
        num_candidates=num_candidates,
        mass=mass,
        log_normalizer=log_normalizer,
        logits=logits,
    )
