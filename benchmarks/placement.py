"""Where requests are placed: hits of the prefix cache and first tokens of 200 simulated workers, by rule of placement.

The product's own rule chooses, as the lifecycle worker does: a few workers are asked for their cached tokens, and the
loads are exact. The peers are a random worker, and the least loaded. A simulated worker reads prompts one after
another, at the measured rate, and keeps the last conversations that fit its cache. Conversations come at random, have
several turns, and each turn's prompt holds all turns before it.

    python -m benchmarks.placement
"""

from __future__ import annotations

import heapq
import random
import statistics
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from webapp.lifecycle.worker_choice import TOKENS_PER_REQUEST, Candidate, choose, worth_asking

NUM_WORKERS = 200
NUM_CONVERSATIONS = 6000
NUM_TURNS = 6
NUM_PLACES = 192
CACHE_TOKENS = 23_000
"""What 512 MiB hold of the bundled model."""
PREFILL_PER_S = 3900.0
"""Tokens of a prompt of 1,000, from the README's table."""
DECODE_PER_S = (263.0, 1640.0)
"""Tokens of one stream, and of 32 streams together."""
SYSTEM_TOKENS, TURN_TOKENS, ANSWER_TOKENS = 200, 300, 200
THINKING_S = 20.0
LOADS = (0.5, 1.5)
"""Shares of the workers' prefill and decode rate that the traffic needs without any cache."""

Rule = Callable[[list[Candidate], list[str], Callable[[str], int], random.Random], str]


@dataclass
class Worker:
    """A simulated worker: when it has read all prompts so far, what runs, and what its cache holds."""

    free_at: float = 0.0
    num_requests: int = 0
    cache: OrderedDict[int, int] = field(default_factory=OrderedDict)

    def keep(self, conversation: int, num_tokens: int) -> None:
        self.cache[conversation] = num_tokens
        self.cache.move_to_end(conversation)
        while sum(self.cache.values()) > CACHE_TOKENS:
            self.cache.popitem(last=False)


def placed(tokens_per_request: int) -> Rule:
    """The product's rule."""

    def rule(found: list[Candidate], recent: list[str], cached: Callable[[str], int], _: random.Random) -> str:
        asked = worth_asking(found, recent)
        told = [Candidate(each.name, each.num_requests, each.num_places, cached(each.name)) for each in asked]
        chosen = choose(told, tokens_per_request)
        assert chosen is not None
        return chosen.name

    return rule


def at_random(found: list[Candidate], _: list[str], __: Callable[[str], int], generator: random.Random) -> str:
    return generator.choice(found).name


def least_loaded(found: list[Candidate], _: list[str], __: Callable[[str], int], generator: random.Random) -> str:
    least = min(each.num_requests for each in found)
    return generator.choice([each for each in found if each.num_requests == least]).name


def simulate(rule: Rule, load: float, seed: int = 1) -> tuple[float, float, float]:
    """Return the share of prompt tokens found in a cache, and the first token's median and 95th percentile in ms."""
    generator = random.Random(seed)
    workers = {f"worker {number}": Worker() for number in range(NUM_WORKERS)}
    recent: dict[int, list[str]] = {}
    num_asked = num_hit = 0
    firsts = list[float]()
    queue = [(generator.uniform(0, _span_s(load)), index, 0, "") for index in range(NUM_CONVERSATIONS)]
    heapq.heapify(queue)
    while queue:
        now, conversation, number, ended = heapq.heappop(queue)
        if ended:
            workers[ended].num_requests -= 1
            continue
        num_tokens = SYSTEM_TOKENS + number * (TURN_TOKENS + ANSWER_TOKENS) + TURN_TOKENS
        found = [Candidate(name, each.num_requests, NUM_PLACES) for name, each in workers.items()]
        name = rule(found, recent.get(conversation, []), partial(_cached, workers, conversation), generator)
        worker = workers[name]
        hit = min(worker.cache.get(conversation, 0), num_tokens - 1)
        num_asked, num_hit = num_asked + num_tokens, num_hit + hit
        first_at = max(now, worker.free_at) + (num_tokens - hit) / PREFILL_PER_S
        worker.free_at = first_at
        worker.num_requests += 1
        firsts.append(1000 * (first_at - now))
        end = first_at + ANSWER_TOKENS * _step_s(worker.num_requests)
        worker.keep(conversation, num_tokens + ANSWER_TOKENS)
        recent[conversation] = [name, *(each for each in recent.get(conversation, []) if each != name)][:4]
        heapq.heappush(queue, (end, conversation, number, name))
        if number + 1 < NUM_TURNS:
            heapq.heappush(queue, (end + generator.expovariate(1 / THINKING_S), conversation, number + 1, ""))
    return num_hit / num_asked, statistics.median(firsts), statistics.quantiles(firsts, n=20)[-1]


def _cached(workers: dict[str, Worker], conversation: int, name: str) -> int:
    return workers[name].cache.get(conversation, 0)


def _step_s(num_streams: int) -> float:
    """The time of one token of one stream among so many, between the measured two."""
    one, many = (1 / DECODE_PER_S[0], 32 / DECODE_PER_S[1])
    return one + (many - one) * (num_streams - 1) / 31


def _span_s(load: float) -> float:
    """The time over which the conversations begin, so that the traffic without a cache needs this share."""
    prompts = sum(SYSTEM_TOKENS + turn * (TURN_TOKENS + ANSWER_TOKENS) + TURN_TOKENS for turn in range(NUM_TURNS))
    work_s = prompts / PREFILL_PER_S + NUM_TURNS * ANSWER_TOKENS / DECODE_PER_S[1]
    return NUM_CONVERSATIONS * work_s / NUM_WORKERS / load


def main() -> None:
    ours = {f"placed, {tokens} tokens a request": placed(tokens) for tokens in (16, TOKENS_PER_REQUEST, 256)}
    for load in LOADS:
        print(f"{NUM_WORKERS} workers, {load:.0%} of what they could compute without a cache")
        for name, rule in {"random": at_random, "least loaded": least_loaded, **ours}.items():
            share, median, late = simulate(rule, load)
            print(f"  {name:28} cached {share:4.0%}   first token {median:6.0f} ms, 95th percentile {late:6.0f} ms")


if __name__ == "__main__":
    main()
