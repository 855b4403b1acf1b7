"""Decode: 256 greedy tokens each of 1, 8 and 32 streams after a prompt of 20 tokens, all streams' tokens per second.

Ours records the top 20 of every token, by the wall clock around Engine.step from the first token to the last. The peer
records nothing, has as many slots as there are streams, gets all requests at once over HTTP, and counts by its own
timings or by the wall clock, whichever is more.

    python -m benchmarks.decode
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from benchmarks.llama_server import Build, LlamaServer, builds
from benchmarks.ours import Ours
from benchmarks.rows import Measure, Question, compared, take_turns, write
from benchmarks.setting import MODEL, NUM_CANDIDATES, NUM_THREADS, prompt

NUM_PROMPT_TOKENS = 20
NUM_DECODED = 256
SLOT_WINDOW = 512
TARGETS = {1: 1.3, 8: 2.5, 32: 3.0}


def compare(
    ours: Ours, num_streams: int, target: float, note: str = "", peers: Sequence[Build] | None = None
) -> dict[str, Any]:
    """Return the row. peers: all builds there are by default."""
    ids = prompt(NUM_PROMPT_TOKENS)
    sides: dict[str, Measure] = {"ours": partial(ours.decode_rate, num_streams, ids, NUM_DECODED, NUM_CANDIDATES)}
    with ExitStack() as stack:
        for build in peers or builds():
            server = stack.enter_context(LlamaServer(MODEL, NUM_THREADS, build, num_streams, SLOT_WINDOW))
            sides[build] = partial(server.decode_rate, num_streams, ids, NUM_DECODED)
        samples = take_turns(sides)
    streams = "one stream" if num_streams == 1 else f"{num_streams} streams together"
    return compared(Question(f"Decode, {streams}, {NUM_DECODED} tokens each", target, "tokens/s"), samples, note)


def run() -> list[dict[str, Any]]:
    ours = Ours()
    rows = [compare(ours, num_streams, target) for num_streams, target in TARGETS.items()]
    return [
        *rows,
        compare(Ours(has_drafts=True), 1, TARGETS[1], "ours with prompt-lookup drafts, on its own repetitions"),
    ]


if __name__ == "__main__":
    write("decode", run())
