"""The least time a step can take here: its bytes at the measured bandwidth, its operations at the measured rate.

Roofline model (Williams, Waterman, Patterson, CACM 2009). Bandwidth: the best of reading 1 GiB with all threads. Matrix
rates: the best oneDNN reached on 1,024 rows and the model's own down projection, int8 (VNNI) and bfloat16. A step reads
every weight once, as the file stores it, and each sequence's keys and values; it computes two operations for each
weight and row, the output layer only for rows whose logits are wanted, and attention. Left out: norms, activations, the
sampler and whatever leaves the processor's caches in between; a real step takes longer. Matrix work is taken at the
int8 rate, attention at bfloat16's.

    python -m benchmarks.roofline
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import torch

from benchmarks.rows import RESULTS
from benchmarks.setting import MODEL, NUM_THREADS, config, kv_bytes_per_token
from inference.models.sources.gguf_file import GgufFile

NUM_DECODED = 256
NUM_PROMPT_TOKENS = 20
MEAN_CONTEXT = NUM_PROMPT_TOKENS + NUM_DECODED // 2
PREFILLS = (1000, 4000)
STREAMS = (1, 8, 32)
_NUM_ROWS = 1024
_REPEATS = 20


@dataclass(frozen=True)
class Machine:
    """Measured: bytes per second, operations per second (a multiply-add is two)."""

    bandwidth: float
    int8_rate: float
    bf16_rate: float


@dataclass(frozen=True)
class Work:
    """One step, or one whole prefill in a single step."""

    name: str
    num_tokens: int
    """What it yields: decoded tokens, or prompt tokens prefilled."""
    weight_bytes: int
    kv_bytes: int
    matrix_operations: int
    attention_operations: int

    def least_seconds(self, machine: Machine) -> float:
        memory = (self.weight_bytes + self.kv_bytes) / machine.bandwidth
        return max(memory, self.compute_seconds(machine))

    def compute_seconds(self, machine: Machine) -> float:
        return self.matrix_operations / machine.int8_rate + self.attention_operations / machine.bf16_rate


def fastest(work: Callable[[], Any]) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measure_machine() -> Machine:
    torch.set_num_threads(NUM_THREADS)
    numbers = torch.ones(2**28)
    bandwidth = numbers.nbytes / fastest(numbers.max)
    num_in, num_out = config().intermediate_size, config().hidden_size
    operations = 2 * _NUM_ROWS * num_in * num_out
    rows, weights = torch.ones(_NUM_ROWS, num_in), torch.ones(num_in, num_out)
    narrow, small = (rows.to(torch.int8), weights.to(torch.int8)), (rows.bfloat16(), weights.bfloat16())
    int8, bf16 = fastest(lambda: torch._int_mm(*narrow)), fastest(lambda: torch.mm(*small))
    return Machine(bandwidth, operations / int8, operations / bf16)


@dataclass(frozen=True)
class Matrices:
    """The bundled model's weight matrices: bytes in the file, weights of all layers, weights of the output layer."""

    num_bytes: int
    layers: int
    output: int


@cache
def matrices() -> Matrices:
    source, shape = GgufFile(MODEL), config()
    names = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    layers = [f"blk.{layer}.{name}.weight" for layer in range(shape.num_layers) for name in names]
    output = "output.weight" if source.has("output.weight") else "token_embd.weight"
    attention = 2 * (shape.num_heads + shape.num_kv_heads) * shape.head_dim
    return Matrices(
        num_bytes=sum(source.blocks(name).nbytes for name in [*layers, output]),
        layers=shape.num_layers * shape.hidden_size * (attention + 3 * shape.intermediate_size),
        output=shape.vocab_size * shape.hidden_size,
    )


def decode(num_streams: int) -> Work:
    return Work(
        name=f"decode step, {num_streams} streams",
        num_tokens=num_streams,
        weight_bytes=matrices().num_bytes,
        kv_bytes=num_streams * MEAN_CONTEXT * kv_bytes_per_token(),
        matrix_operations=2 * num_streams * (matrices().layers + matrices().output),
        attention_operations=num_streams * MEAN_CONTEXT * _attention_operations(),
    )


def prefill(num_tokens: int) -> Work:
    return Work(
        name=f"prefill of {num_tokens:,} tokens",
        num_tokens=num_tokens,
        weight_bytes=matrices().num_bytes,
        kv_bytes=num_tokens * kv_bytes_per_token(),
        matrix_operations=2 * (num_tokens * matrices().layers + matrices().output),
        attention_operations=num_tokens * (num_tokens + 1) // 2 * _attention_operations(),
    )


def _attention_operations() -> int:
    """For one query token and one token of context, in all layers: score and weighted sum."""
    return 4 * config().num_layers * config().num_heads * config().head_dim


def report(machine: Machine, work: Work) -> dict[str, Any]:
    seconds = work.least_seconds(machine)
    return asdict(work) | {
        "memory_ms": round(1000 * (work.weight_bytes + work.kv_bytes) / machine.bandwidth, 3),
        "compute_ms": round(1000 * work.compute_seconds(machine), 3),
        "least_ms": round(1000 * seconds, 3),
        "most_tokens_per_second": round(work.num_tokens / seconds, 1),
    }


def main() -> None:
    machine = measure_machine()
    works = [report(machine, work) for work in (*map(decode, STREAMS), *map(prefill, PREFILLS))]
    RESULTS.mkdir(exist_ok=True)
    result = {"machine": asdict(machine), "num_threads": NUM_THREADS, "mean_context": MEAN_CONTEXT, "work": works}
    (RESULTS / "roofline.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    print(f"read {machine.bandwidth / 1e9:.1f} GB/s, int8 {machine.int8_rate / 1e9:.0f}, ", end="")
    print(f"bfloat16 {machine.bf16_rate / 1e9:.0f} billion operations/s, {NUM_THREADS} threads")
    for work in works:
        times = f"memory {work['memory_ms']:8.2f} ms   compute {work['compute_ms']:8.2f} ms"
        print(f"{work['name']:24} {times}   at most {work['most_tokens_per_second']:8.0f} tokens/s")


if __name__ == "__main__":
    main()
