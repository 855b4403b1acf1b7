"""vocabulary.summarise on the device that computed the logits: only the results go to the host.

Knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inference.sampling.vocabulary import Summarise, Summary

_NUM_MEASURES = 5


def device_summarise(on_device: Callable[[NDArray[np.float32]], Tensor | None], fallback: Summarise) -> Summarise:
    """Return a vocabulary.Summarise; of logits equal to the last sorted one, any may be that one.

    on_device: returns the same logits on the device, None where they are not there. fallback: used in that case, and
    for rows with non-finite logits.
    """

    @torch.inference_mode()
    def summarise(logits: NDArray[np.float32], temperatures: Sequence[float], num_sorted: int) -> list[Summary]:
        found = on_device(logits)
        if found is None:
            return fallback(logits, temperatures, num_sorted)
        rows = _measure(found, temperatures, min(num_sorted, found.shape[1])).cpu().numpy()
        return [
            _summary(row, found.shape[1]) if row[0] else fallback(logits[[index]], [temperatures[index]], num_sorted)[0]
            for index, row in enumerate(rows)
        ]

    return summarise


def _measure(logits: Tensor, temperatures: Sequence[float], num_sorted: int) -> Tensor:
    """[num_rows, vocab_size] → [num_rows, measures, then ids, then their logits] float64, which holds all exactly."""
    divisors = torch.tensor(temperatures, dtype=torch.float32).to(logits.device, non_blocking=True)[:, None]
    values, ids = logits.topk(num_sorted)
    top = values[:, :1]
    log_normalizer, entropy = _log_normalizer_and_entropy(logits - top)
    scaled_log_normalizer, scaled_entropy = _log_normalizer_and_entropy((logits - top) / divisors)
    measures = [
        logits.isfinite().all(-1),
        top[:, 0].double() + log_normalizer,
        entropy,
        (top / divisors)[:, 0].double() + scaled_log_normalizer,
        scaled_entropy,
    ]
    return torch.cat([torch.stack([each.double() for each in measures], 1), ids.double(), values.double()], 1)


def _log_normalizer_and_entropy(shifted: Tensor) -> tuple[Tensor, Tensor]:
    """Return both, [num_rows] float64 each, for logits whose maximum is 0."""
    shifted = shifted.clamp_min(-1e30)  # a quotient may overflow, and 0 times infinity is NaN
    weights = shifted.exp()
    total = weights.sum(-1, dtype=torch.float64)
    log_total = total.log()
    return log_total, log_total - (weights * shifted).sum(-1, dtype=torch.float64) / total


def _summary(row: NDArray[np.float64], vocab_size: int) -> Summary:
    ids, logits = np.split(row[_NUM_MEASURES:], 2)
    order = np.lexsort((ids, -logits))
    return Summary(
        True,
        vocab_size,
        ids[order].astype(np.int32),
        logits[order].astype(np.float32),
        *row[1:_NUM_MEASURES].tolist(),
    )
