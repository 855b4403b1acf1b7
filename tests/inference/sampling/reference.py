"""The sampler once more, as plainly as it can be written: float64, the whole vocabulary sorted, lists and sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inference.protocol.request import SamplingParams

Floats = NDArray[np.float64]


@dataclass
class Left:
    """What one processor leaves: the tokens, and log-sum-exp of their logits."""

    name: str
    tokens: set[int]
    log_normalizer: float


def processors(
    logits: NDArray[np.float32],
    params: SamplingParams,
    prompt: Sequence[int] = (),
    output: Sequence[int] = (),
    allowed: set[int] | None = None,
    pieces: Sequence[bytes] = (),
) -> tuple[list[Left], Floats]:
    """What every processor that is on leaves, and each token's probability in the end. pieces: by token, for DRY."""
    x = logits.astype(np.float64)
    left = set(range(len(x)))
    record: list[Left] = []

    def note(name: str) -> None:
        record.append(Left(name, set(left), log_sum_exp([x[i] for i in left])))

    if allowed is not None:
        left &= allowed
        note("grammar")
    if params.banned_token_ids:
        left -= set(params.banned_token_ids)
        note("banned_tokens")
    for entry in params.logit_bias:
        x[entry.id] += entry.bias
    if params.logit_bias:
        note("logit_bias")
    if params.repetition_penalty != 1 or params.frequency_penalty or params.presence_penalty:
        for token in {*prompt, *output}:
            factor = params.repetition_penalty
            x[token] = x[token] / factor if x[token] > 0 else x[token] * factor
        for token, times in Counter(output).items():
            x[token] -= params.frequency_penalty * times + params.presence_penalty
        note("penalties")
    if params.dry_multiplier and params.dry_penalty_last_n:
        for token in range(len(x)):
            x[token] -= dry_penalty(token, params, output, pieces)
        note("dry")
    if params.temperature == 0:
        final = np.zeros(len(x))
        final[min(left, key=lambda i: (-x[i], i))] = 1
        return record, final
    x = x / params.temperature
    if params.temperature != 1:
        note("temperature")

    def order() -> list[int]:
        return sorted(left, key=lambda i: (-x[i], i))

    def probability() -> dict[int, float]:
        total = log_sum_exp([x[i] for i in left])
        return {i: float(np.exp(x[i] - total)) for i in left}

    if 0 < params.top_k < len(left):
        left = set(order()[: params.top_k])
        note("top_k")
    if params.top_p < 1:
        left = until(order(), probability(), params.top_p)
        note("top_p")
    if params.min_p > 0:
        p = probability()
        left = {i for i in left if p[i] >= params.min_p * max(p.values())}
        note("min_p")
    if params.typical_p < 1:
        p = probability()
        entropy = -sum(value * np.log(value) for value in p.values() if value)
        nearest = sorted(left, key=lambda i: abs(-np.log(max(p[i], 1e-300)) - entropy))
        left = until(nearest, p, params.typical_p)
        note("typical_p")
    final = np.zeros(len(x))
    for token, value in probability().items():
        final[token] = value
    return record, final


def dry_penalty(token: int, params: SamplingParams, output: Sequence[int], pieces: Sequence[bytes]) -> float:
    """By trying each length of the output's end at each place before it."""

    def breaks(other: int) -> bool:
        return any(text.encode() in pieces[other] for text in params.dry_sequence_breakers)

    seen = list(output)
    if params.dry_penalty_last_n >= 0:
        seen = seen[max(0, len(seen) - params.dry_penalty_last_n) :]
    longest = 0
    for length in range(1, len(seen)):
        end = seen[-length:]
        if any(map(breaks, end)) or breaks(token):
            continue
        if any(seen[place : place + length + 1] == [*end, token] for place in range(len(seen) - length)):
            longest = length
    if longest < params.dry_allowed_length:
        return 0.0
    return min(float(params.dry_multiplier * params.dry_base ** (longest - params.dry_allowed_length)), 10_000.0)


def until(order: list[int], p: dict[int, float], share: float) -> set[int]:
    """The first of the order whose probabilities reach the share."""
    total, kept = 0.0, set()
    for token in order:
        kept.add(token)
        total += p[token]
        if total >= share:
            break
    return kept


def log_sum_exp(values: Sequence[float]) -> float:
    x = np.array(values)
    return float(x.max() + np.log(np.exp(x - x.max()).sum()))
