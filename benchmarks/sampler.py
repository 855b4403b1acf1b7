"""What one token costs in the sampler, for typical settings: `python -m benchmarks.sampler`.

Rows of logits are made up: noise of a width that leaves some thousand tokens in play, and a few tokens that stand out,
as they do where a model is neither sure nor lost. The first pass over the vocabulary, which is made for all rows of a
step at once, is timed apart from the rest; both with the portable form of these passes and with the kernels.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sized
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.grammar.grammar import Grammars
from inference.kernels.choice import find_kernels
from inference.protocol.request import SamplingParams
from inference.sampling.native_vocabulary import native_summarise
from inference.sampling.sampler import NUM_SORTED, Sampler
from inference.sampling.vocabulary import Summarise, Summary, summarise
from inference.tokenization.bundled import bundled_model
from inference.tokenization.gguf_metadata import read_metadata
from inference.tokenization.tokenizer import Tokenizer

_NUM_ROWS = 64
_NUM_ROUNDS = 9
_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_SETTINGS = {
    "greedy": SamplingParams(temperature=0),
    "T = 0.7, top-p 0.9": SamplingParams(temperature=0.7),
    "T = 1, unfiltered": SamplingParams(temperature=1, top_p=1),
    "T = 0.7, typical-p 0.9": SamplingParams(temperature=0.7, top_p=1, typical_p=0.9),
    "T = 0.7, top-p 0.9, penalties": SamplingParams(temperature=0.7, repetition_penalty=1.1, presence_penalty=0.1),
    "T = 0.7, top-p 0.9, JSON Schema": SamplingParams(temperature=0.7, json_schema=json.dumps(_SCHEMA)),
}


def made_up_rows(vocab_size: int) -> NDArray[np.float32]:
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((_NUM_ROWS, vocab_size)).astype(np.float32) * np.float32(2.2)
    for row in rows:
        row[generator.integers(0, vocab_size, 8)] += np.linspace(6, 14, 8).astype(np.float32)
    return rows


def best_us_per_token(run: Callable[[], Sized]) -> float:
    """Of several rounds, the quickest: other work on the machine only ever adds."""
    best = float("inf")
    for _ in range(_NUM_ROUNDS):
        start = time.perf_counter()
        num_tokens = len(run())
        best = min(best, (time.perf_counter() - start) / num_tokens)
    return best * 1e6


class Case:
    """One setting, on the same rows as the others."""

    def __init__(
        self, params: SamplingParams, rows: NDArray[np.float32], tokenizer: Tokenizer, summarise: Summarise
    ) -> None:
        self._params = params
        self._summarise = summarise
        self._rows = rows
        self._eos_ids = tokenizer.eos_ids
        self._grammars = Grammars(tokenizer)
        self._prompt = np.random.default_rng(1).integers(0, tokenizer.vocab_size, 1000).tolist()
        self._temperatures = [self._sampler().summary_temperature] * len(rows)
        self._summaries = self.first_pass()

    def _sampler(self) -> Sampler:
        grammar = self._grammars.compile(self._params)
        return Sampler(self._params, self._prompt, grammar=grammar, summarise=self._summarise)

    def first_pass(self) -> list[Summary]:
        return self._summarise(self._rows, self._temperatures, NUM_SORTED)

    def answer(self) -> list[int]:
        """The tokens of one answer, given the rows' summaries."""
        sampler = self._sampler()
        output: list[int] = []
        for row, summary in zip(self._rows, self._summaries, strict=True):
            sampler.prepare(output)
            while not sampler.is_ready():
                time.sleep(0)
            output.append(sampler.sample(row, output, summary).id)
            if output[-1] in self._eos_ids:
                break
        return output


def main() -> None:
    tokenizer = Tokenizer(read_metadata(bundled_model()))
    rows = made_up_rows(tokenizer.vocab_size)
    with tempfile.TemporaryDirectory() as folder:
        kernels = find_kernels(Path(folder), num_threads=1)
        forms = {"portable": summarise} | ({"kernels": native_summarise(kernels)} if kernels else {})
        for form, function in forms.items():
            print(f"{'µs per token, ' + form:34}{'first pass':>12}{'the rest':>12}")
            for name, params in _SETTINGS.items():
                case = Case(params, rows, tokenizer, function)
                print(f"{name:34}{best_us_per_token(case.first_pass):12.0f}{best_us_per_token(case.answer):12.0f}")


if __name__ == "__main__":
    main()
