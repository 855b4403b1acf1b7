"""The second turn of a conversation: time to first token after a prefix of 2,000 tokens, cold against cached.

Cold: the whole second turn under a new principal. Warm: first the 2,000 tokens as a first turn, then the same second
turn under the same principal. Each round has a principal of its own.

    python -m benchmarks.second_turn
"""

from __future__ import annotations

from itertools import count
from typing import Any

from benchmarks.ours import Ours
from benchmarks.rows import Question, compared, take_turns, write
from benchmarks.setting import prompt, tokenizer

NUM_PREFIX_TOKENS = 2000
SECOND_MESSAGE = "And how many of them came back before the winter, according to his book?"
TARGET = 0.06


def run() -> list[dict[str, Any]]:
    ours, first_turn = Ours(), prompt(NUM_PREFIX_TOKENS)
    second_turn = first_turn + tokenizer().encode(SECOND_MESSAGE)
    principals = count()

    def warm() -> float:
        principal = f"conversation {next(principals)}"
        ours.time_to_first_token(first_turn, principal)
        return 1000 * ours.time_to_first_token(second_turn, principal)

    def cold() -> float:
        return 1000 * ours.time_to_first_token(second_turn)

    num_new = len(second_turn) - NUM_PREFIX_TOKENS
    name = f"Time to first token of a second turn ({NUM_PREFIX_TOKENS:,} tokens before, {num_new} new)"
    question = Question(name, TARGET, "ms", is_more_better=False)
    return [compared(question, take_turns({"ours": warm, "cold": cold}))]


if __name__ == "__main__":
    write("second_turn", run())
