"""Inference workers are killed at random moments while eight answers stream from three of them.

The next kill waits until each answer has a token again: a request that ends two workers without a token between them is
refused by promise. All further delay, and the worker, are drawn from the seed.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.faults.conftest import kill, until
from tests.scoreboard.fleet import Fleet, fleet
from tests.scoreboard.model import NONSENSE
from tests.scoreboard.reader import Reading
from tests.scoreboard.row import Measured, Setting, judged, percentile
from tests.scoreboard.streams import Params, Streams, next_token_at

NUM_KILLS, NUM_BUNDLED = 200, 20
_WAIT_S = 60.0
_DELAY_S = 1.0
_TINY: list[Params] = [
    NONSENSE | {"seed": 1, "max_tokens": 1500},
    NONSENSE | {"seed": 2, "max_tokens": 1500, "repetition_penalty": 1.1},
    NONSENSE | {"seed": 3, "max_tokens": 1500, "frequency_penalty": 0.5},
    NONSENSE | {"seed": 4, "max_tokens": 1500, "regex": "[ -~]*"},
    NONSENSE | {"seed": 5, "max_tokens": 1500, "dry_multiplier": 0.8},
    NONSENSE | {"seed": 6, "max_tokens": 1500, "stop": ["qzqzqzqz"]},
    NONSENSE | {"seed": 7, "max_tokens": 1500, "top_k": 40, "min_p": 0.05},
    NONSENSE | {"seed": 8, "max_tokens": 1500, "temperature": 0},
]
_BUNDLED: list[Params] = [
    {"seed": seed, "max_tokens": 150, "temperature": 0.8, "banned_token_ids": [0, 2], "stop_on_repetition": False}
    for seed in range(8)
]
"""Short, so that none meets eight kills: a request that has lost eight workers is refused by promise."""
PROMPT = "Write a very long story about a river."


@dataclass
class Tally:
    """The kills so far, and the time from each to the next token of each answer that it met."""

    num: int = 0
    pauses_s: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def streams_of(found: Fleet, is_tiny: bool = True) -> Streams:
    return Streams(found.site, PROMPT, _TINY if is_tiny else _BUNDLED)


def run(setting: Setting) -> list[Measured]:
    with fleet(setting.folder / "tiny", 3) as found:
        tiny, streams = _killed(found, setting, NUM_KILLS, streams_of(found))
    with fleet(setting.folder / "bundled", 3, is_tiny=False) as found:
        bundled, others = _killed(found, setting, NUM_BUNDLED, streams_of(found, is_tiny=False))
    short = [
        f"{each.num} of {wanted} kills in the time" for each, wanted in _wanted(tiny, bundled) if each.num < wanted
    ]
    return [*_tokens(tiny, bundled, streams, others, short), _soon(tiny, bundled), _clients(streams, others)]


def _wanted(tiny: Tally, bundled: Tally) -> list[tuple[Tally, int]]:
    return [(tiny, NUM_KILLS), (bundled, NUM_BUNDLED)]


def _killed(found: Fleet, setting: Setting, num: int, streams: Streams) -> tuple[Tally, Streams]:
    tally, draws = Tally(), setting.draws
    streams.learn()
    streams.cut_draws = random.Random(setting.seed)
    streams.start()
    try:
        while tally.num < num and setting.has_time():
            _kill_one(found, streams, tally, draws)
    finally:
        streams.stop()
    return tally, streams


def _kill_one(found: Fleet, streams: Streams, tally: Tally, draws: random.Random) -> None:
    """Kill a worker that runs an answer, replace it, and wait until each answer that it may have run goes on."""
    until(lambda: len(found.ready()) >= 2 and bool(_running(found, streams)), _WAIT_S)
    time.sleep(draws.uniform(0, _DELAY_S))
    by_worker = _running(found, streams)
    if not by_worker:
        return
    victim = draws.choice(sorted(by_worker))
    child, met = found.of(victim), by_worker[victim]
    assert child is not None
    killed_at = time.monotonic()
    kill(child)
    tally.num += 1
    young = [reading for reading in streams.open() if not reading.num_tokens()]
    found.site.add_inference()
    wait_for_tokens(met, killed_at, tally)
    until(lambda: all(reading.num_tokens() or reading.is_over for reading in young), _WAIT_S)


def wait_for_tokens(met: Sequence[Reading], since: float, tally: Tally) -> None:
    """Note the pause of each answer that a fault met; one that was complete in its log has none."""
    deadline = time.monotonic() + _WAIT_S
    for reading in met:
        while (at := next_token_at(reading.arrivals, since)) is None and not reading.is_over:
            if time.monotonic() > deadline:
                tally.problems.append(f"{reading.request_id} has had no token for {_WAIT_S:.0f} s")
                return
            time.sleep(0.02)
        if at is not None:
            tally.pauses_s.append(at - since)


def _running(found: Fleet, streams: Streams) -> dict[str, list[Reading]]:
    """The answers that have a token and run, by the worker that runs them."""
    by_worker: dict[str, list[Reading]] = {}
    for reading in streams.open():
        worker = reading.worker()
        is_running = reading.num_tokens() and not any(e["type"] == "generation.finished" for e in reading.events[-4:])
        if worker and is_running and found.of(worker) is not None:
            by_worker.setdefault(worker, []).append(reading)
    return by_worker


def held(setting: Setting) -> list[Measured]:
    """Stop workers past their lease, and let them go on once others have taken over."""
    with fleet(setting.folder / "held", 3) as found:
        streams, tally, draws = streams_of(found), Tally(), setting.draws
        streams.learn()
        streams.start()
        while tally.num < 20 and setting.has_time():
            _hold_one(found, streams, tally, draws)
        streams.stop()
    problems = [*faults(streams), *tally.problems]
    if tally.num < 20:
        problems.append(f"{tally.num} of 20 in the time")
    return [judged("held", f"{tally.num} of 20; {len(streams.ended)} answers whole, appends after the fence: "
                   f"{len(problems)}", problems)]  # fmt: skip


def _hold_one(found: Fleet, streams: Streams, tally: Tally, draws: random.Random) -> None:
    until(lambda: len(found.ready()) >= 3 and bool(_running(found, streams)), _WAIT_S)
    time.sleep(draws.uniform(0, _DELAY_S))
    by_worker = _running(found, streams)
    if not by_worker:
        return
    name = draws.choice(sorted(by_worker))
    child = found.of(name)
    assert child is not None
    at = time.monotonic()
    child.send(signal.SIGSTOP)
    wait_for_tokens(by_worker[name], at, tally)
    child.send(signal.SIGCONT)
    tally.num += 1


def faults(streams: Streams) -> list[str]:
    """What is wrong with the answers and their bills."""
    found = [problem for each in streams.ended if each.found for problem in each.found.problems]
    named = [f"ended as {each.code}" for each in streams.ended if each.code]
    return [*found, *named, *(problem for each in streams.ended for problem in each.bill), *streams.problems]


def _tokens(tiny: Tally, bundled: Tally, streams: Streams, others: Streams, short: list[str]) -> list[Measured]:
    every = [*streams.ended, *others.ended]
    ended = [each for each in every if each.found]
    counts = [sum(getattr(each.found, name) for each in ended) for name in ("lost", "doubled", "reordered")]
    whole = f"{len(ended)} of {len(every)} answers whole"
    num_kills = f"{tiny.num} kills ({bundled.num} more with the bundled model), {whole}"
    figure = f"{num_kills}: {counts[0]} tokens lost, {counts[1]} doubled, {counts[2]} reordered"
    problems = [*faults(streams), *faults(others), *tiny.problems, *bundled.problems]
    num_same = sum(not each.found.problems for each in ended if each.found)
    bills = [problem for each in every for problem in each.bill]
    return [
        judged("take-over", figure, [*short, *problems]),
        judged("same answer", f"{num_same} of {len(every)} answers", [] if num_same == len(every) else problems),
        judged("one bill", f"{len(bills)} differences in the bills of {len(every)} requests", bills),
    ]


def _soon(tiny: Tally, bundled: Tally) -> Measured:
    pauses = [*tiny.pauses_s, *bundled.pauses_s]
    p50, p95, worst = (percentile(pauses, share) for share in (0.5, 0.95, 1))
    late = [] if p95 <= 3 and worst <= 6 else [f"p95 {p95:.1f} s, worst {worst:.1f} s"]
    return judged("soon", f"p50 {p50:.1f} s, p95 {p95:.1f} s, worst {worst:.1f} s ({len(pauses)} pauses)", late)


def _clients(streams: Streams, others: Streams) -> Measured:
    ended = [*streams.ended, *others.ended]
    num_cuts = sum(each.reading.num_cuts for each in ended)
    gaps = [problem for each in ended if each.found for problem in each.found.problems if "gap" in problem]
    again = sum(each.reading.num_again for each in ended)
    problems = [*gaps, *([f"{again} readings began again"] if again else [])]
    if num_cuts < 100:
        problems.append(f"{num_cuts} of 100 cuts in the time")
    return judged("clients", f"server-sent events: {num_cuts} cuts while workers died, {len(gaps)} gaps", problems)
