"""Mixed load: 32 requests of 50 to 1,500 prompt tokens and 64 to 128 tokens of answer, arriving at random.

Arrivals are a Poisson process, the same for both sides. What counts is the time between neighbouring tokens of an
answer: its 99th percentile over all tokens of all requests. The peer has a slot for every request, and the times of its
tokens are by its own clock. Its steps are of 256 tokens: one of its default size computes up to 2,048 prompt tokens
while every answer waits, which makes the percentile several times worse.

    python -m benchmarks.mixed_load
"""

from __future__ import annotations

import random
import statistics
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from benchmarks.llama_server import LlamaServer, builds
from benchmarks.ours import Ours
from benchmarks.rows import Measure, Question, compared, take_turns, write
from benchmarks.setting import MODEL, NUM_THREADS, prompt

NUM_REQUESTS = 32
RATE = 0.35
"""Requests per second: about four fifths of what the peer can do on a quiet machine: busy and yet not overrun."""
SEED = 7
NUM_PROMPT_TOKENS = (50, 1500)
NUM_DECODED = (64, 128)
SLOT_WINDOW = 1664
PEER_STEP = 256
NUM_ROUNDS = 3
TARGET = 0.5


@dataclass(frozen=True)
class Arrival:
    """One request and when it comes, in seconds after the start."""

    at: float
    ids: list[int]
    num_tokens: int


def arrivals() -> list[Arrival]:
    """The same every time."""
    generator = random.Random(SEED)
    at, result = 0.0, []
    for _ in range(NUM_REQUESTS):
        ids = prompt(generator.randint(*NUM_PROMPT_TOKENS))
        result.append(Arrival(at, ids, generator.randint(*NUM_DECODED)))
        at += generator.expovariate(RATE)
    return result


def p99_ms(gaps: list[float]) -> float:
    return 1000 * statistics.quantiles(gaps, n=100)[98]


def serve_ours(ours: Ours, load: list[Arrival]) -> float:
    waiting, start = deque(load), time.perf_counter()
    while waiting or ours.has_work():
        while waiting and time.perf_counter() - start >= waiting[0].at:
            arrival = waiting.popleft()
            ours.submit(arrival.ids, arrival.num_tokens)
        if ours.has_work():
            ours.step()
        else:
            time.sleep(max(0.0, start + waiting[0].at - time.perf_counter()))
    return p99_ms([after - before for times in ours.run() for before, after in pairwise(times)])


def serve_peer(server: LlamaServer, load: list[Arrival]) -> float:
    start = time.perf_counter()

    def serve(arrival: Arrival) -> list[float]:
        time.sleep(max(0.0, start + arrival.at - time.perf_counter()))
        return server.complete(arrival.ids, arrival.num_tokens, is_streamed=True).token_gaps

    with ThreadPoolExecutor(NUM_REQUESTS) as pool:
        return p99_ms([gap for gaps in pool.map(serve, load) for gap in gaps])


def run() -> list[dict[str, Any]]:
    load = arrivals()
    ours = Ours()
    ours.time_to_first_token(load[0].ids)
    sides: dict[str, Measure] = {"ours": partial(serve_ours, ours, load)}
    with ExitStack() as stack:
        for build in builds():
            server = LlamaServer(MODEL, NUM_THREADS, build, NUM_REQUESTS, SLOT_WINDOW, PEER_STEP)
            sides[build] = partial(serve_peer, stack.enter_context(server), load)
        samples = take_turns(sides, NUM_ROUNDS, num_warm_ups=0)
    name = f"Mixed load, {NUM_REQUESTS} requests at {RATE:g}/s, 99th percentile of the time per output token"
    return [compared(Question(name, TARGET, "ms", is_more_better=False), samples)]


if __name__ == "__main__":
    write("mixed_load", run())
