"""Memory or room on the disk runs out under answers that stream, and comes back.

The limits are those of the operating system, set on running processes: an inference worker's address space, and the
size of files of the site's processes. Redis is filled by a limit of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psutil

from tests.scoreboard.fleet import Fleet, fleet
from tests.scoreboard.load import PROMPT, answer, load, named, num_done, wait_for_answer, wait_for_ends, wrong
from tests.scoreboard.load import wait_for_tokens as wait_for_load
from tests.scoreboard.reader import Reading, follow
from tests.scoreboard.row import Measured, Setting, judged
from tests.scoreboard.streams import Params, checked
from webapp.supervisor.child import Child

_ROOM = 24 << 20
"""Bytes that a worker may still take."""
_LARGE = "A river ran through the town. " * 400
_ANSWERS: list[Params] = [{"seed": seed, "max_tokens": 80, "stop_on_repetition": False} for seed in range(2)]
_FULL_S = 8.0
_PATIENCE_S = 120.0


def memory(setting: Setting) -> list[Measured]:
    """A large prompt meets the limit of its worker's address space, while others' answers stream from there."""
    with fleet(setting.folder / "memory", 1, is_tiny=False) as found:
        site = found.site
        whole = [answer(site, params, time.monotonic() + _PATIENCE_S).events for params in _ANSWERS]
        others = [_following(found, Reading(site.send(PROMPT, **params))) for params in _ANSWERS]
        _wait(lambda: all(reading.num_tokens() for reading in others))
        with _limited([found.children()[0]], psutil.RLIMIT_AS, _ROOM):
            large = _following(found, Reading(site.send(_LARGE, max_tokens=4)))
            _wait(lambda: large.is_over and all(reading.is_over for reading in others))
        is_answered = wait_for_answer(site, _PATIENCE_S).is_over
        problems = _memory_problems(found, large, others, whole)
    end = large.events[-1] if large.is_over else {"type": "open"}
    figure = f"the large prompt ended as {end.get('code', end['type'])}; {len(others)} others as undisturbed"
    return [judged("memory", f"{figure}, and a new message is answered" * is_answered, problems)]


def _memory_problems(
    found: Fleet, large: Reading, others: list[Reading], whole: list[list[dict[str, Any]]]
) -> list[str]:
    hanging = [f"{reading.request_id} hangs" for reading in (large, *others) if not reading.is_over]
    if hanging:
        return hanging
    problems = []
    for reading, undisturbed in zip(others, whole, strict=True):
        ended = checked(found.site, reading, undisturbed)
        problems += [*(ended.found.problems if ended.found else [f"ended as {ended.code}"]), *ended.bill]
    if large.events[-1]["type"] == "request.finished":
        problems.append("the large prompt met no limit")
    return problems


def disk(setting: Setting) -> list[Measured]:
    """The site's processes can write no file for a while, then Redis takes no data."""
    with fleet(setting.folder / "disk", 2) as found:
        told = list[str]()
        with load(found.site) as streams:
            for name, full in (("files", _no_file(found)), ("Redis", _full_redis(found))):
                wait_for_load(streams)
                open_then = streams.open()
                with full:
                    told += _refusals(found, name)
                wait_for_answer(found.site)
                wait_for_ends(streams, open_then, name)
        problems = wrong(streams)
    problems += [f"{each.reading.request_id} ended as {each.code}" for each in streams.ended if each.code]
    problems += [each for each in told if " 503 " not in each]
    figure = f"refused as {', '.join(sorted(set(told)))}; once there was room {num_done(streams)} answers whole"
    return [judged("disk", figure + named(streams), problems)]


def _refusals(found: Fleet, name: str) -> list[str]:
    """Send messages as long as there is no room; how each was refused."""
    told, until_at = list[str](), time.monotonic() + _FULL_S
    while time.monotonic() < until_at:
        reply = found.site.client.post("/api/conversations", json={})
        if reply.is_success:
            path = f"/api/conversations/{reply.json()['id']}/messages"
            reply = found.site.client.post(path, json={"text": "Hello", "params": {"max_tokens": 2}})
        told.append(f"{name}: {reply.status_code} {_code(reply)}")
        time.sleep(0.2)
    return told


def _code(reply: httpx.Response) -> str:
    return str(reply.json()["error"]["code"]) if reply.is_error else "taken"


@contextmanager
def _limited(children: list[Child], resource: int, room: int) -> Iterator[None]:
    """Limit processes to what they have and some room. They are asked to give nothing back."""
    processes = [psutil.Process(child.pid) for child in children]
    before = [process.rlimit(resource) for process in processes]
    for process, (_, hard) in zip(processes, before, strict=True):
        has = process.memory_info().vms if resource == psutil.RLIMIT_AS else 0
        process.rlimit(resource, (has + room, hard))
    try:
        yield
    finally:
        for process, limits in zip(processes, before, strict=True):
            process.rlimit(resource, limits)


def _no_file(found: Fleet) -> Any:
    return _limited([found.site.web, found.site.lifecycle], psutil.RLIMIT_FSIZE, 0)


@contextmanager
def _full_redis(found: Fleet) -> Iterator[None]:
    before: Any = found.client.config_get("maxmemory")
    found.client.config_set("maxmemory", "1")
    try:
        yield
    finally:
        found.client.config_set("maxmemory", before["maxmemory"])


def _following(found: Fleet, reading: Reading) -> Reading:
    follow(found.site.client.base_url, found.site.client.cookies, reading, _PATIENCE_S)
    return reading


def _wait(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.05)
