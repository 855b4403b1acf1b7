"""Load of many users who send at a pace of their own, whatever the site does, and read each answer to its end.

The pace is 1, 2 and 5 times the capacity, which clients measure first: each of them sends again once it has an answer.
"""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import httpx

from tests.faults.conftest import Processes
from tests.scoreboard.fleet import fleet
from tests.scoreboard.reader import Reading, read
from tests.scoreboard.row import Measured, Setting, judged, percentile, unproven
from tests.scoreboard.visitors import Visitor, request_of, visitors

_NUM_USERS = 40
_NUM_CLOSED = 24
"""Clients that measure the capacity."""
_NUM_THREADS = 288
"""More than the places of a worker: those beyond them wait for the site's refusals."""
_TOKENS = 16
_PHASE_S, _RAMP_S = 35.0, 5.0
_DRAIN_S = 60.0
_MOST_REFUSAL_S = 0.2
_LEAST_GOODPUT = 0.9
_TEXT = "Tell me of the river."


@dataclass
class Phase:
    """What clients met from one moment on, for some seconds. The first seconds do not count."""

    began: float = field(default_factory=time.monotonic)
    num_sent: int = 0
    ends: list[float] = field(default_factory=list)
    """When each answer was whole."""
    refusals_s: list[float] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    cores: float = 0.0
    """Cores that the clients took, of those that the site needs too."""

    def goodput(self) -> float:
        """Answers a second."""
        counted = [end for end in self.ends if _RAMP_S <= end - self.began <= _PHASE_S]
        return len(counted) / (_PHASE_S - _RAMP_S)


def run(setting: Setting) -> list[Measured]:
    draws = setting.draws
    with fleet(setting.folder / "load", 1) as found:
        users = visitors(found.site, _NUM_USERS)
        _prepare(users)
        phases = [_closed(found.site, users)]
        capacity = phases[0].goodput()
        if capacity:
            phases += [_offered(found.site, users, factor * capacity, draws) for factor in (1, 2, 5)]
    return [_goodput(phases), _refusals(phases[1:])]


def _prepare(users: Sequence[Visitor]) -> None:
    """Let each user have a conversation, and the site its model."""
    assert all(user.conversation for user in users)
    users[0].first_token_s(_TEXT, max_tokens=_TOKENS)


def _closed(site: Processes, users: Sequence[Visitor]) -> Phase:
    """Clients that send once they have an answer."""
    phase = Phase()
    deadline = phase.began + _PHASE_S

    def go_on(number: int) -> None:
        with _client(site) as client:
            while time.monotonic() < deadline:
                _ask(client, users[number], phase)

    _at_once([lambda n=n: go_on(n) for n in range(_NUM_CLOSED)])  # type: ignore[misc]
    return phase


def _offered(site: Processes, users: Sequence[Visitor], rate: float, draws: random.Random) -> Phase:
    """Calls at this rate, each by a drawn user, at drawn moments."""
    phase = Phase()
    arrivals = _arrivals(phase.began, rate, users, draws)
    lock = threading.Lock()

    def take() -> None:
        with _client(site) as client:
            while True:
                with lock:
                    at, user = next(arrivals, (0.0, None))
                if user is None or time.monotonic() > phase.began + _PHASE_S:
                    return
                time.sleep(max(0.0, at - time.monotonic()))
                _ask(client, user, phase)

    used = time.process_time()
    _at_once([take] * _NUM_THREADS)
    phase.cores = (time.process_time() - used) / (time.monotonic() - phase.began)
    return phase


def _arrivals(
    began: float, rate: float, users: Sequence[Visitor], draws: random.Random
) -> Iterator[tuple[float, Visitor | None]]:
    gaps = (draws.expovariate(rate) for _ in itertools.count())
    moments = itertools.takewhile(lambda at: at < began + _PHASE_S, itertools.accumulate(gaps, initial=began))
    return ((at, draws.choice(users)) for at in moments)


def _client(site: Processes) -> httpx.Client:
    return httpx.Client(base_url=site.client.base_url, timeout=_DRAIN_S, verify=False)


def _at_once(calls: Sequence[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_PHASE_S + 2 * _DRAIN_S)


def _ask(client: httpx.Client, user: Visitor, phase: Phase) -> None:
    """Send a message, and read its answer to the end."""
    began = time.monotonic()
    phase.num_sent += 1
    try:
        answer = user.send(client, _TEXT, max_tokens=_TOKENS)
        if answer.status_code != 201:
            _note_refusal(answer, time.monotonic() - began, phase)
            return
        reading = Reading(request_of(answer))
        read(client.base_url, user.cookies, reading, time.monotonic() + _DRAIN_S)
        _note_end(reading, phase)
    except Exception as error:
        phase.problems.append(f"{type(error).__name__}: {error}")


def _note_end(reading: Reading, phase: Phase) -> None:
    last = reading.events[-1]["type"] if reading.is_over else "no end"
    if last == "request.finished":
        phase.ends.append(time.monotonic())
    else:
        phase.problems.append(f"an answer ended as {last}")


def _note_refusal(answer: httpx.Response, seconds: float, phase: Phase) -> None:
    """Count a refusal, and say where it is not as the API promises."""
    phase.refusals_s.append(seconds)
    phase.refusals[f"{answer.status_code}"] += 1
    wait = answer.headers.get("Retry-After", "")
    error = answer.json().get("error", {}) if "json" in answer.headers.get("Content-Type", "") else {}
    if answer.status_code not in (429, 503) or not (error.get("code") and error.get("message")):
        phase.problems.append(f"a refusal {answer.status_code} {error}")
    elif not wait.isdigit() or int(wait) < 1:
        phase.problems.append(f"a refusal {error['code']} with Retry-After {wait!r}")


def _goodput(phases: Sequence[Phase]) -> Measured:
    rates = [phase.goodput() for phase in phases]
    if len(rates) < 4:
        return judged("goodput", "", ["no answer was whole", *phases[0].problems])
    told = ", ".join(f"{factor} times {rate:.1f}" for factor, rate in zip((1, 2, 5), rates[1:], strict=True))
    share = rates[-1] / max(rates)
    figure = f"{rates[0]:.1f} answers/s at most with {_NUM_CLOSED} clients; at {told}: {100 * share:.0f} % of the peak"
    figure += f"; clients took {phases[-1].cores:.1f} of {os.cpu_count()} cores"
    problems = [] if share >= _LEAST_GOODPUT else [f"{100 * share:.0f} % of the peak"]
    return judged("goodput", figure, problems)


def _refusals(phases: Sequence[Phase]) -> Measured:
    times = [seconds for phase in phases for seconds in phase.refusals_s]
    if not times:
        return unproven("refusals", "", "nothing was refused")
    counts = sum((phase.refusals for phase in phases), Counter())
    p50, p99 = percentile(times, 0.5), percentile(times, 0.99)
    offered = phases[-1].num_sent / _PHASE_S
    told = ", ".join(f"{num:,} of {status}" for status, num in sorted(counts.items()))
    figure = f"{told}; p50 {1000 * p50:.0f} ms, p99 {1000 * p99:.0f} ms; at most {offered:.0f} calls/s"
    problems = [each for phase in phases for each in phase.problems]
    return judged("refusals", figure, problems + ([f"p99 {1000 * p99:.0f} ms"] if p99 > _MOST_REFUSAL_S else []))
