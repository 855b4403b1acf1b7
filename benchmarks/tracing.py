"""What recording costs: 8 streams with the top 20 of every token recorded, against the same streams with none.

Off is num_candidates=0: each token is still an event with its probability and rank, as the answer itself needs, but no
candidates are found, sorted and kept.

    python -m benchmarks.tracing
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.decode import NUM_DECODED, NUM_PROMPT_TOKENS
from benchmarks.ours import Ours
from benchmarks.rows import Question, compared, take_turns, write
from benchmarks.setting import NUM_CANDIDATES, prompt

NUM_STREAMS = 8
TARGET = 0.97


def run() -> list[dict[str, Any]]:
    rate = partial(Ours().decode_rate, NUM_STREAMS, prompt(NUM_PROMPT_TOKENS), NUM_DECODED)
    samples = take_turns({"ours": partial(rate, NUM_CANDIDATES), "off": partial(rate, 0)})
    name = f"Tracing on against off, decode of {NUM_STREAMS} streams together"
    return [compared(Question(name, TARGET, "tokens/s"), samples)]


if __name__ == "__main__":
    write("tracing", run())
