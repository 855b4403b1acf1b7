"""The engine against llama.cpp's server: same GGUF, same machine, same run, turn about, two threads each.

Decode: 256 greedy tokens of one stream after a short prompt; ours records the top 20 of every token, the peer records
nothing. Prefill: 1,000 prompt tokens; ours includes sampling the first token. The peer's rates are its own timings,
ours are by the wall clock around Engine.step. Medians; the spread is the quartiles of neighbouring runs' ratios.

    python -m benchmarks.engine
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.llama_server import LlamaServer
from inference.engine.engine import Engine, load_engine
from inference.eventlog.clock import RequestClock, unix_us
from inference.protocol.events import TokenSampled
from inference.protocol.request import GenerationRequest, SamplingParams
from inference.tokenization.bundled import bundled_model
from inference.tokenization.gguf_metadata import read_metadata
from inference.tokenization.tokenizer import Tokenizer

RESULT = Path(__file__).parent / "results" / "engine.json"
NUM_THREADS = 2
NUM_RUNS = 7
NUM_DECODED = 256
NUM_PREFILLED = 1000
TEXT = "The old lighthouse keeper counted forty-two ships that night, and wrote each name into his book. "


class Ours:
    """Our engine, driven as the worker's thread drives it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._num_requests = 0

    def decode_rate(self, ids: list[int]) -> float:
        """Tokens per second after the first."""
        times = self._token_times(ids, NUM_DECODED)
        return (len(times) - 1) / (times[-1] - times[0])

    def prefill_rate(self, ids: list[int]) -> float:
        """Prompt tokens per second up to and including the first token."""
        start = time.perf_counter()
        (first,) = self._token_times(ids, 1)
        return len(ids) / (first - start)

    def _token_times(self, ids: list[int], num_tokens: int) -> list[float]:
        self._num_requests += 1
        clock = RequestClock(unix_us())
        request = GenerationRequest(
            request_id=f"req_{self._num_requests}",
            attempt=1,
            model="benchmark",
            prompt_ids=tuple(ids),
            params=SamplingParams(temperature=0.0, max_tokens=num_tokens),
            accepted_unix_us=unix_us(),
            cache_salt="",
        )
        self._engine.submit(request, frozenset(), clock)
        times = []
        while self._engine.has_work():
            outputs = self._engine.step()
            if any(isinstance(event, TokenSampled) for output in outputs for event in output.events):
                times.append(time.perf_counter())
        return times


def compare(ours: Callable[[], float], peer: Callable[[], float]) -> list[tuple[float, float]]:
    """Rates of neighbouring runs, after one warm-up of each."""
    ours(), peer()
    return [(ours(), peer()) for _ in range(NUM_RUNS)]


def row(name: str, pairs: list[tuple[float, float]], target: float) -> dict[str, Any]:
    ratios = [mine / theirs for mine, theirs in pairs]
    low, median, high = statistics.quantiles(ratios, n=4)
    return {
        "name": name,
        "ours": round(statistics.median(mine for mine, _ in pairs), 1),
        "peer": round(statistics.median(theirs for _, theirs in pairs), 1),
        "ratio": round(median, 2),
        "target": f">= {target:g}x",
        "unit": "tokens/s",
        "spread": f"{low:.2f}x to {high:.2f}x",
    }


def run() -> list[dict[str, Any]]:
    model = bundled_model()
    tokenizer = Tokenizer(read_metadata(model))
    ours = Ours(load_engine(model, NUM_THREADS, tokenizer))
    short = tokenizer.encode(TEXT)
    long = tokenizer.encode(TEXT * 60)[:NUM_PREFILLED]
    with LlamaServer(model, NUM_THREADS) as peer:
        return [
            row(
                "Decode, one stream, 256 tokens, top 20 of each recorded, vs llama.cpp recording none",
                compare(lambda: ours.decode_rate(short), lambda: peer.complete(short, NUM_DECODED).decode_rate),
                target=0.6,
            ),
            row(
                "Decode, one stream, 256 tokens, both recording the top 20",
                compare(lambda: ours.decode_rate(short), lambda: peer.complete(short, NUM_DECODED, 20).decode_rate),
                target=0.6,
            ),
            row(
                "Prefill of 1,000 tokens",
                compare(lambda: ours.prefill_rate(long), lambda: peer.complete(long, 1).prefill_rate),
                target=3,
            ),
        ]


if __name__ == "__main__":
    rows = run()
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    for each in rows:
        print(json.dumps(each))
