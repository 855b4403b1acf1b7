"""Each process is stopped by SIGSTOP for longer than all limits of time, then goes on, under a few streams."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import psutil
import psycopg
import redis

from tests.postgres_servers import Server, new_database, postgres_server
from tests.scoreboard.answering import load, named, num_done, wait_for_answer, wait_for_ends, wait_for_tokens, wrong
from tests.scoreboard.row import Measured, Setting, judged, worst_of
from tests.scoreboard.streams import Streams
from tests.scoreboard.supervised import Supervised, supervised

STOP_S = 18.0
"""Longer than each limit for an answer: of a lease, a heartbeat, a connection, a reply, an append."""
_REHEARSAL_S = 3.0
PARTS = ("redis", "web", "lifecycle", "inference", "inference-2", "probes", "sender", "supervisor", "postgres")
_LIMITS = {"SIGHTGLASS_WORKERS": "2", "SIGHTGLASS_QUEUE_TIMEOUT_S": "60", "SIGHTGLASS_STALL_TIMEOUT_S": "60"}
_LIMIT_S = 10.0


def run(setting: Setting) -> list[Measured]:
    with postgres_server() as server:
        url = new_database(server.url, "product")
        with supervised(setting.folder / "hang", SIGHTGLASS_DATABASE_URL=url, **_LIMITS) as site:
            return [_run(setting, site, server)]


def _run(setting: Setting, site: Supervised, server: Server) -> Measured:
    healthy_s, problems = dict[str, float](), list[str]()
    _rehearse(site, server)
    before = _held(site, server)
    with load(site) as streams:
        for part in PARTS:
            if setting.has_time():
                wait_for_tokens(streams)
                healthy_s[part] = _hang(site, server, part, streams, STOP_S)
    problems += [*wrong(streams), *_more(site, server, before)]
    if len(healthy_s) < len(PARTS):
        problems.insert(0, f"{len(healthy_s)} of {len(PARTS)} in the time")
    problems += [f"{part}: answers again after {s:.1f} s" for part, s in healthy_s.items() if s > _LIMIT_S]
    figure = f"{len(healthy_s)} processes stopped for {STOP_S:.0f} s each: {num_done(streams)} answers whole"
    figure += f"{named(streams)}; answers again after {worst_of(healthy_s)}"
    return judged("hang", figure, problems)


def _rehearse(site: Supervised, server: Server) -> None:
    """Stop each process shortly, so that pools have as many threads and connections as wait at once in a fault."""
    with load(site) as streams:
        for part in PARTS:
            wait_for_tokens(streams)
            _hang(site, server, part, streams, _REHEARSAL_S)


def _hang(site: Supervised, server: Server, part: str, streams: Streams, stop_s: float) -> float:
    """Return the time from SIGCONT until a new message is answered."""
    send = server.child.send if part == "postgres" else _sender(site.pids()[part])
    send(signal.SIGSTOP)
    try:
        time.sleep(stop_s)
    finally:
        send(signal.SIGCONT)
    at, open_now = time.monotonic(), streams.open()
    wait_for_answer(site)
    took_s = time.monotonic() - at
    wait_for_ends(streams, open_now, part)
    return took_s


def _sender(pid: int) -> Callable[[signal.Signals], None]:
    return lambda number: os.kill(pid, number)


def _held(site: Supervised, server: Server) -> dict[str, int]:
    """The threads of each process, and the connections that Redis and PostgreSQL have."""
    found = {f"threads of {part}": psutil.Process(pid).num_threads() for part, pid in site.pids().items()}
    with redis.Redis.from_url(site.redis_url) as client:
        found["connections to Redis"] = len(client.client_list())
    with psycopg.connect(server.url) as client:
        row = client.execute("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = 'product'").fetchone()
        found["connections to PostgreSQL"] = row[0] if row else 0
    return found


def _more(site: Supervised, server: Server, before: dict[str, int]) -> list[str]:
    """More than before is left, also after the time that a thread may take to see that it is not needed."""
    deadline = time.monotonic() + 30
    while True:
        after = _held(site, server)
        more = {name: num for name, num in after.items() if num > before.get(name, 0)}
        if not more or time.monotonic() > deadline:
            return [f"{name}: {num} instead of {before.get(name, 0)}" for name, num in more.items()]
        time.sleep(1)
