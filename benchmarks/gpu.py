"""The engine on a GPU, with random weights in Llama's shapes and the top 20 of every token recorded: decode at 1, 8 and
32 streams with and without CUDA graphs, prefill of 1,000 and 4,000 tokens.

Prints JSON and writes nothing: the README's figures are a CPU's. `roofline` is the share of a step's time in which the
card, by the bandwidth of its own copies, would read each weight, key and value once. Not run on a GPU yet.

    python -m benchmarks.gpu 1B 8B
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from itertools import count

import torch

from benchmarks.random_weights import PLAIN, random_weights
from inference.engine.engine import Engine
from inference.engine.model_runner import ModelRunner
from inference.engine.scheduling.scheduler import DEVICE_LIMITS
from inference.eventlog.clock import RequestClock, unix_us
from inference.models.blocks import BLOCK_SIZE, block_bytes
from inference.models.decoders.paged_decoder import PagedDecoder
from inference.models.device import best_dtype, find_cuda
from inference.protocol.request import GenerationRequest, SamplingParams
from inference.sampling import vocabulary
from inference.sampling.device_vocabulary import device_summarise

_LLAMA = replace(PLAIN, num_heads=32, num_kv_heads=8, vocab_size=128_256, context_length=8192, rope_theta=500_000.0)
SHAPES = {
    "1B": replace(_LLAMA, num_layers=16, hidden_size=2048, intermediate_size=8192, head_dim=64, query_scale=64**-0.5),
    "8B": replace(
        _LLAMA, num_layers=32, hidden_size=4096, intermediate_size=14_336, head_dim=128, query_scale=128**-0.5
    ),
}
KV_BYTES = 16 << 30
NUM_PROMPT_TOKENS, NUM_DECODED = 20, 256


class Pieces:
    """No tokenizer is needed."""

    def piece(self, token: int) -> bytes:
        return b"x"

    def is_special(self, token: int) -> bool:
        return False


class Bench:
    """One engine, driven step by step."""

    _numbers = count()

    def __init__(self, decoder: PagedDecoder) -> None:
        self._vocab_size = decoder.config.vocab_size
        summarise = device_summarise(decoder.on_device, vocabulary.summarise)
        self._engine = Engine(ModelRunner(decoder, KV_BYTES), Pieces(), limits=DEVICE_LIMITS, summarise=summarise)

    def seconds(self, num_streams: int, num_prompt_tokens: int, num_tokens: int) -> tuple[float, float]:
        """From the start to the first token, and from there to the last, of streams that begin at once."""
        for _ in range(num_streams):
            number = next(self._numbers)
            request = GenerationRequest(
                request_id=f"req_{number}",
                attempt=1,
                model="benchmark",
                prompt_ids=tuple((7 * n + number) % self._vocab_size for n in range(num_prompt_tokens)),
                params=SamplingParams(temperature=0.0, max_tokens=num_tokens),
                accepted_unix_us=unix_us(),
                principal=f"{number}",
            )
            self._engine.submit(request, frozenset(), RequestClock(unix_us()))
        start, first = time.perf_counter(), None
        while self._engine.has_work():
            for output in self._engine.step():
                assert output.finish_reason in (None, "length"), output.message
                if output.usage.output and first is None:
                    first = time.perf_counter()
        assert first is not None
        return first - start, time.perf_counter() - first


def bandwidth(device: torch.device) -> float:
    """Bytes read and written per second by copies."""
    source = torch.empty(4 << 30, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    target.copy_(source)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(10):
        target.copy_(source)
    torch.cuda.synchronize()
    return 10 * 2 * source.nbytes / (time.perf_counter() - start)


def run(name: str, device: torch.device, bytes_per_s: float) -> list[dict[str, object]]:
    config, dtype = SHAPES[name], best_dtype(device)
    weights, rows = random_weights(config, dtype, device), list[dict[str, object]]()
    weight_bytes = sum(value.nbytes for value in weights.values())
    for has_graphs in (True, False):
        bench = Bench(PagedDecoder(config, weights, dtype, device, has_graphs))
        for streams in (1, 8, 32):
            bench.seconds(streams, NUM_PROMPT_TOKENS, NUM_DECODED)  # captures
            _, elapsed = bench.seconds(streams, NUM_PROMPT_TOKENS, NUM_DECODED)
            per_token = block_bytes(config) // BLOCK_SIZE
            kv_bytes = streams * (NUM_PROMPT_TOKENS + NUM_DECODED // 2) * per_token
            step_s = elapsed / (NUM_DECODED - 1)
            share = (weight_bytes + kv_bytes) / bytes_per_s / step_s
            work = f"decode, {streams} streams" + ("" if has_graphs else ", without graphs")
            rows.append({"model": name, "work": work, "tokens/s": streams / step_s, "roofline": share})
        if has_graphs:
            for num_tokens in (1000, 4000):
                bench.seconds(1, num_tokens, 1)
                elapsed, _ = bench.seconds(1, num_tokens, 1)
                rows.append({"model": name, "work": f"prefill, {num_tokens} tokens", "tokens/s": num_tokens / elapsed})
        del bench
    return rows


if __name__ == "__main__":
    device = find_cuda("cuda")
    assert device is not None
    found = {"device": torch.cuda.get_device_name(device), "copy, GB/s": bandwidth(device) / 1e9}
    print(json.dumps(found), flush=True)
    for name in sys.argv[1:] or SHAPES:
        for row in run(name, device, found["copy, GB/s"] * 1e9):
            print(json.dumps(row), flush=True)
