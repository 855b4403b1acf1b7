"""Idle and active streams of several users in one web process: its memory, its queries, and what it refuses."""

from __future__ import annotations

import re
import socket
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.scoreboard.row import Measured, Setting, judged
from tests.scoreboard.standing import Standing, standing
from tests.scoreboard.usage import memory_bytes
from tests.scoreboard.visitors import Visitor, visitors

_NUM_USERS, _NUM_STREAMS, _NUM_ASKED, _LIMIT = 40, 1000, 1000, 32
_NUM_ACTIVE, _NUM_EVENTS = 200, 200
"""Streams that are sent events while the others are open, and the events of each."""
_NUM_ACTIVE_USERS, _EVENTS_PER_S = 8, 20.0
_WATCH_S = 20.0
_SILENCE_S = 20.0
_MOST_BYTES = 64 << 10
_MOST_QUERIES = 25.0
"""A second, above those without streams. A query for each stream every few seconds would be more than 100."""
_PATIENT = {"SIGHTGLASS_QUEUE_TIMEOUT_S": "900", "SIGHTGLASS_STALL_TIMEOUT_S": "900"}
"""Idle requests stay open."""


@dataclass
class Stream:
    """A connection that asked for a request's events, and the head of its answer."""

    connection: socket.socket
    status: int
    head: str


def run(setting: Setting) -> list[Measured]:
    with standing(setting.folder / "streams", **_PATIENT) as found:
        users = visitors(found.site, _NUM_USERS + _NUM_ACTIVE_USERS + 1)
        requests = found.open([user.user_id for user in users], 1)
        problems, statuses = _refused(users[-1], requests[-1])
        before, queries = memory_bytes(found.site.web.pid), _queries_per_s(found)
        streams = [_open(users[n % _NUM_USERS], requests[n % _NUM_USERS]) for n in range(_NUM_STREAMS)]
        num_open = sum(stream.status == 200 for stream in streams)
        more = _queries_per_s(found) - queries
        each = (memory_bytes(found.site.web.pid) - before) / max(1, num_open)
        dropped = _active(found, list(zip(users, requests, strict=True))[_NUM_USERS:-1])
        num_lost = sum(_is_closed(stream) for stream in streams)
        _close(streams)
    problems += [f"{dropped} of {_NUM_ACTIVE} active streams lack events"] if dropped else []
    problems += [f"{num_lost} idle streams ended"] if num_lost else []
    figure = (
        f"{num_open} idle streams: {each / 1024:.0f} KiB each, {max(0.0, more):.1f} queries/s more than without; "
        f"{_NUM_ACTIVE} more had {_NUM_EVENTS} events each, {_EVENTS_PER_S:.0f} a second; "
        f"of {_NUM_ASKED:,} of one user {statuses[200]} open, {statuses[429]} refused"
    )
    problems += [f"{each / 1024:.0f} KiB each"] if each > _MOST_BYTES else []
    problems += [f"{more:.0f} queries/s"] if more > _MOST_QUERIES else []
    problems += [f"{num_open} of {_NUM_STREAMS} opened"] if num_open < _NUM_STREAMS else []
    return [judged("streams", figure, problems)]


def _active(found: Standing, owned: Sequence[tuple[Visitor, str]]) -> int:
    """Send events to streams beside the idle ones; the number of those that did not get all of them."""
    streams = [_open(*owned[n % len(owned)]) for n in range(_NUM_ACTIVE)]
    with ThreadPoolExecutor(_NUM_ACTIVE) as pool:
        counts = [pool.submit(_count, stream) for stream in streams]
        for _ in range(_NUM_EVENTS):
            found.append([request_id for _, request_id in owned])
            time.sleep(1 / _EVENTS_PER_S)
        return sum(count.result() < _NUM_EVENTS for count in counts)


def _count(stream: Stream) -> int:
    """Read until all events have come, or none comes for a while; their number. Those of the head are not counted."""
    text, num = b"", 0
    stream.connection.settimeout(_SILENCE_S)
    with suppress(TimeoutError), stream.connection:
        while num < _NUM_EVENTS and (received := stream.connection.recv(1 << 16)):
            text += received
            num = text.count(b'"generation.started"')
    return num


def _is_closed(stream: Stream) -> bool:
    """Whether the server has ended it. What it has sent meanwhile is passed over."""
    stream.connection.setblocking(False)
    try:
        while stream.connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    return True


def _refused(user: Visitor, request_id: str) -> tuple[list[str], Counter[int]]:
    """Ask for many streams of one user: those beyond the limit are refused in words, and with a time to wait."""
    streams = [_open(user, request_id) for _ in range(_NUM_ASKED)]
    statuses = Counter(stream.status for stream in streams)
    refused = [stream for stream in streams if stream.status != 200]
    unclear = [each for each in refused if not re.search(r"\nRetry-After: [1-9]", each.head)]
    _close(streams)
    problems = [f"{len(unclear)} refusals without Retry-After"] if unclear else []
    if statuses != {200: _LIMIT, 429: _NUM_ASKED - _LIMIT}:
        problems.append(f"answers {dict(statuses)} instead of {_LIMIT} streams")
    return problems, statuses


def _open(user: Visitor, request_id: str) -> Stream:
    """Returns once the first event is there, or the refusal."""
    address = urlsplit(user.address)
    connection = socket.create_connection((address.hostname, address.port), timeout=60)
    lines = [f"GET /api/requests/{request_id}/events HTTP/1.1", f"Host: {address.netloc}", *_named(user.headers)]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    head = b""
    while b"event: frame" not in head and b'"error"' not in head:
        received = connection.recv(1 << 16)
        if not received:
            break
        head += received
    status = int(head.split()[1]) if head else 0
    if status != 200:
        connection.close()
    return Stream(connection, status, head.decode().replace("\r\n", "\n"))


def _named(headers: dict[str, str]) -> list[str]:
    return [f"{name}: {text}" for name, text in headers.items()]


def _close(streams: Sequence[Stream]) -> None:
    for stream in streams:
        stream.connection.close()


def _queries_per_s(found: Standing) -> float:
    began, before = time.monotonic(), found.num_queries()
    time.sleep(_WATCH_S)
    return (found.num_queries() - before) / (time.monotonic() - began)
