"""A worker may take little more address space for a while, and reads a large prompt then, under answers that stream.

The supervisor starts a worker again that ends for lack of memory.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil

from tests.scoreboard.answering import load, named, num_done, wait_for_answer, wait_for_ends, wait_for_tokens, wrong
from tests.scoreboard.model import NONSENSE, WINDOW
from tests.scoreboard.reader import Reading, read
from tests.scoreboard.row import Measured, Setting, judged
from tests.scoreboard.streams import Streams
from tests.scoreboard.supervised import Supervised, supervised

_MIB = 2**20
_ROOM_MIB = (0, 1, 2, 4, 8, 16, 32, 64)
"""Address space that a worker may take beyond what it has."""
_SHORT_S = 6.0
"""A shortage lasts so long at most."""
_LARGE = "word " * (WINDOW // 5 - 100)
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Shortage:
    """What became of a large prompt, and of the worker."""

    end: str
    has_ended_worker: bool


def run(setting: Setting) -> list[Measured]:
    with supervised(setting.folder / "memory") as site:
        with load(site) as streams:
            found = [_shortage(site, streams, room) for room in _ROOM_MIB if setting.has_time()]
        problems = wrong(streams)
    problems += [f"{each.reading.request_id} ended as {each.code}" for each in streams.ended if each.code]
    problems += ["a large prompt hangs" for each in found if each.end == "hangs"]
    if len(found) < len(_ROOM_MIB):
        problems.insert(0, f"{len(found)} of {len(_ROOM_MIB)} in the time")
    return [judged("memory", _figure(streams, found), problems)]


def _figure(streams: Streams, found: list[Shortage]) -> str:
    ends = ", ".join(f"{num} {end}" for end, num in sorted(Counter(each.end for each in found).items()))
    figure = f"{len(found)} shortages, 0 to {_ROOM_MIB[-1]} MiB left: {num_done(streams)} answers whole{named(streams)}"
    return figure + f"; large prompts: {ends}; the worker ended {sum(each.has_ended_worker for each in found)} times"


def _shortage(site: Supervised, streams: Streams, room_mib: int) -> Shortage:
    """Let the worker be short of memory, and wait until all that it met is over."""
    wait_for_tokens(streams)
    open_then, pid = streams.open(), site.pids()["inference"]
    end = _starve(site, pid, room_mib * _MIB)
    wait_for_answer(site)
    wait_for_ends(streams, open_then, f"{room_mib} MiB")
    return Shortage(end, site.pids().get("inference") != pid)


def _starve(site: Supervised, pid: int, room: int) -> str:
    """Send a large prompt while a worker may take no more than some bytes; how the prompt ended."""
    with _address_limit(pid, room):
        reading = Reading(site.send(_LARGE, **NONSENSE, max_tokens=20, seed=5))
        _read(site, reading, _SHORT_S)
    _read(site, reading, _PATIENCE_S)
    if not reading.is_over:
        return "hangs"
    last = reading.events[-1]
    return f"failed as {last['code']}" if last["type"] == "request.failed" else "answered"


def _read(site: Supervised, reading: Reading, limit_s: float) -> None:
    if not reading.is_over:
        read(site.client.base_url, site.client.cookies, reading, time.monotonic() + limit_s)


@contextmanager
def _address_limit(pid: int, room: int) -> Iterator[None]:
    process = psutil.Process(pid)
    before = process.rlimit(psutil.RLIMIT_AS)
    process.rlimit(psutil.RLIMIT_AS, (process.memory_info().vms + room, before[1]))
    try:
        yield
    finally:
        with suppress(psutil.NoSuchProcess):  # it ended for lack of memory
            process.rlimit(psutil.RLIMIT_AS, before)
