"""No file can be written for a while, then Redis takes no data, under answers that stream.

The limits are those of running processes: the size of files of the site's, and the memory of Redis.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psutil

from tests.scoreboard.answering import load, named, num_done, wait_for_answer, wait_for_ends, wait_for_tokens, wrong
from tests.scoreboard.fleet import Fleet, fleet
from tests.scoreboard.row import Measured, Setting, judged

_FULL_S = 8.0


def run(setting: Setting) -> list[Measured]:
    """The site's processes can write no file for a while, then Redis takes no data."""
    with fleet(setting.folder / "disk", 2) as found:
        told = list[str]()
        with load(found.site) as streams:
            for name, full in (("files", _no_file(found)), ("Redis", _full_redis(found))):
                wait_for_tokens(streams)
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
def _no_file(found: Fleet) -> Iterator[None]:
    """Let the site's processes write to no file."""
    processes = [psutil.Process(child.pid) for child in (found.site.web, found.site.lifecycle)]
    before = [process.rlimit(psutil.RLIMIT_FSIZE) for process in processes]
    for process, (_, hard) in zip(processes, before, strict=True):
        process.rlimit(psutil.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        for process, limits in zip(processes, before, strict=True):
            process.rlimit(psutil.RLIMIT_FSIZE, limits)


@contextmanager
def _full_redis(found: Fleet) -> Iterator[None]:
    before: Any = found.client.config_get("maxmemory")
    found.client.config_set("maxmemory", "1")
    try:
        yield
    finally:
        found.client.config_set("maxmemory", before["maxmemory"])
