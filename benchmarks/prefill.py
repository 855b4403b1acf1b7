"""Prefill of 1,000 and of 4,000 prompt tokens, from nothing.

Ours is by the wall clock from submission to the first token, which it samples and records; the peer's rate is its own
timing of the prompt alone.

    python -m benchmarks.prefill
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from benchmarks.llama_server import Build, LlamaServer, builds
from benchmarks.ours import Ours
from benchmarks.rows import Measure, Question, compared, take_turns, write
from benchmarks.setting import MODEL, NUM_THREADS, prompt

WINDOW = 4352
TARGETS = {1000: 7.0, 4000: 5.0}


def compare(
    ours: Ours, num_tokens: int, target: float, note: str = "", peers: Sequence[Build] | None = None
) -> dict[str, Any]:
    """Return the row. peers: all builds there are by default."""
    ids = prompt(num_tokens)
    sides: dict[str, Measure] = {"ours": lambda: num_tokens / ours.time_to_first_token(ids)}
    with ExitStack() as stack:
        for build in peers or builds():
            server = stack.enter_context(LlamaServer(MODEL, NUM_THREADS, build, 1, WINDOW))
            sides[build] = partial(server.prefill_rate, ids)
        samples = take_turns(sides)
    return compared(Question(f"Prefill of {num_tokens:,} tokens", target, "tokens/s"), samples, note)


def run() -> list[dict[str, Any]]:
    ours = Ours()
    return [compare(ours, num_tokens, target) for num_tokens, target in TARGETS.items()]


if __name__ == "__main__":
    write("prefill", run())
