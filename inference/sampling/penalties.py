"""Repetition, frequency and presence penalties. Knows nothing of the later stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inference.protocol.request import SamplingParams


def penalise(
    logits: NDArray[np.float32], params: SamplingParams, prompt: Sequence[int], output: Sequence[int]
) -> NDArray[np.float32] | None:
    """A penalised copy of logits [vocab_size]; None when all penalties are off.

    The repetition penalty (CTRL, arXiv 1909.05858) looks at prompt and output, the other two (as in OpenAI's API) at
    the output alone.
    """
    if params.repetition_penalty == 1 and params.frequency_penalty == 0 and params.presence_penalty == 0:
        return None
    result = logits.copy()
    if params.repetition_penalty != 1:
        seen = np.unique(np.fromiter((*prompt, *output), dtype=np.int64))
        values = result[seen]
        factor = np.float32(params.repetition_penalty)
        result[seen] = np.where(values > 0, values / factor, values * factor)
    if output:
        counts = Counter(output)
        ids = np.fromiter(counts.keys(), dtype=np.int64)
        times = np.fromiter(counts.values(), dtype=np.float32)
        result[ids] -= np.float32(params.frequency_penalty) * times + np.float32(params.presence_penalty)
    return result
