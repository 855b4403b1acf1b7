"""Each process is replaced by a new one in mid-stream: the old one gets SIGTERM and ends in its own time.

A new worker starts before its predecessor is stopped, so that old and new run together. The web server's port and
Redis's data have one owner at a time.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from tests.faults.conftest import kill, until
from tests.scoreboard.answering import load, named, num_done, wait_for_answer, wait_for_tokens, wrong
from tests.scoreboard.fleet import Fleet, fleet
from tests.scoreboard.row import Measured, Setting, judged, worst_of
from webapp.operations.supervisor.child import Child

NUM_ROUNDS, NUM_WORKERS = 4, 2
_DRAIN_S = 20.0
_GRACE_S = 5.0
"""After the drain; what has not ended by then is killed, as an init system does."""


def run(setting: Setting) -> list[Measured]:
    drained_s, problems = dict[str, float](), list[str]()
    draws, wanted = setting.draws, [*_REPLACE] * NUM_ROUNDS
    with fleet(setting.folder / "deploy", NUM_WORKERS) as found:
        with load(found.site) as streams:
            for number, part in enumerate(draws.sample(wanted, len(wanted))):
                if setting.has_time():
                    wait_for_tokens(streams)
                    drained_s[f"{part}, {number}"] = _REPLACE[part](found)
                    wait_for_answer(found.site)
        problems += wrong(streams)
    problems += [f"{each.reading.request_id} ended as {each.code}" for each in streams.ended if each.code]
    problems += [f"{part} drained for {s:.1f} s" for part, s in drained_s.items() if s > _DRAIN_S + _GRACE_S]
    if len(drained_s) < len(wanted):
        problems.insert(0, f"{len(drained_s)} of {len(wanted)} in the time")
    figure = f"{len(drained_s)} replaced: {num_done(streams)} answers as undisturbed{named(streams)}; "
    figure += f"drained in {worst_of(drained_s)}; "
    figure += f"{len(streams.refusals)} messages came while the port or Redis was free, and were sent again"
    return [judged("deploy", figure, problems)]


def _ended_in_s(child: Child) -> float:
    at = time.monotonic()
    child.send(signal.SIGTERM)
    if not child.wait(_DRAIN_S + _GRACE_S):
        kill(child)
    return time.monotonic() - at


def _replace_web(found: Fleet) -> float:
    took_s = _ended_in_s(found.site.web)
    found.site.web = found.site.start_web()
    found.site.wait_for("/healthz")
    return took_s


def _replace_redis(found: Fleet) -> float:
    took_s = _ended_in_s(found.site.redis)
    found.site.redis = found.site.start_redis()
    return took_s


def _replace_lifecycle(found: Fleet) -> float:
    old, found.site.lifecycle = found.site.lifecycle, found.site.start_lifecycle()
    until(lambda: "ready." in found.site.lifecycle.log(), 60)
    return _ended_in_s(old)


def _replace_inference(found: Fleet) -> float:
    """Replace the worker that has run for the longest time."""
    old = found.children()[0]
    found.site.add_inference()
    found.wait_ready(NUM_WORKERS + 1)
    return _ended_in_s(old)


_REPLACE: dict[str, Callable[[Fleet], float]] = {
    "web": _replace_web,
    "redis": _replace_redis,
    "lifecycle": _replace_lifecycle,
    "inference": _replace_inference,
    "other inference": _replace_inference,
}
