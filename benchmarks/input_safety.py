"""How long the check of a prompt of 500 tokens takes, with the product's classifier and policy.

Runs the check in this process, on as many threads as in the product. Each sample is another text of ordinary
sentences, cut to 500 tokens of the bundled model, so that no sentence was embedded before.

    python -m benchmarks.input_safety
"""

from __future__ import annotations

import random
from typing import Any

from benchmarks.rows import Question, without_peer, write
from benchmarks.setting import tokenizer
from inference.safety import load_guard
from inference.safety.sentences import split_sentences

NUM_TOKENS, NUM_TEXTS = 500, 20
TARGET_MS = 15.0
_WHO = ("The baker", "My sister", "A neighbour", "The teacher", "Our captain", "The old gardener", "A young nurse")
_DOES = ("counts", "carries", "repairs", "paints", "describes", "borrows", "collects", "compares", "measures")
_WHAT = ("three boats", "the green lamp", "a box of letters", "two maps", "the kitchen clock", "a pair of shoes")
_WHERE = ("behind the station", "before breakfast", "near the harbour", "with great care", "on a rainy evening")


def run() -> list[dict[str, Any]]:
    guard, source = load_guard(), random.Random(1)
    texts = [_text(source) for _ in range(NUM_TEXTS + 1)]
    first, *samples = [guard.check(text, "input").duration_us / 1000 for text in texts]
    num = len(split_sentences(texts[-1]))
    note = f"{num} sentences; the first one after a start {first:.0f} ms"
    return [
        without_peer(Question("Input check of a prompt of 500 tokens", TARGET_MS, "ms", False, " ms"), samples, note)
    ]


def _text(source: random.Random) -> str:
    sentences = (" ".join(source.choice(part) for part in (_WHO, _DOES, _WHAT, _WHERE)) for _ in range(NUM_TOKENS))
    ids = tokenizer().encode(". ".join(sentences))[:NUM_TOKENS]
    return b"".join(tokenizer().piece(each) for each in ids).decode(errors="ignore")


if __name__ == "__main__":
    write("input_safety", run())
