"""A client that reads one request's server-sent events to their end, and comes back after each cut.

It cuts its own connection as often as it is told to. Knows nothing of what the events mean.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.faults.conftest import lines_of

_PAUSE_S = 0.05
"""Before the next connection, where one was refused."""
_SILENCE_S = 30.0
"""Twice the interval of keep-alives."""


@dataclass(frozen=True)
class Arrived:
    """A frame, and the time (monotonic) of its arrival."""

    at: float
    seq: int
    events: list[dict[str, Any]]


@dataclass
class Reading:
    """What a client has of one request."""

    request_id: str
    cuts: list[int] = field(default_factory=list)
    """The numbers of frames after which the client cuts its connection, in order; each is counted from its start."""
    frames: list[Arrived] = field(default_factory=list)
    arrivals: list[Arrived] = field(default_factory=list)
    """All frames that came, also those that `again` has voided."""
    num_cuts: int = 0
    num_again: int = 0
    num_silent: int = 0
    """Connections that said nothing for much longer than a stream may be silent."""
    is_over: bool = False

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for frame in list(self.frames) for event in frame.events]

    def worker(self) -> str | None:
        """The worker that runs the last attempt."""
        bounds = ("generation.started", "generation.resumed")
        return next((event["worker"] for event in reversed(self.events) if event["type"] in bounds), None)

    def num_tokens(self) -> int:
        return sum(event["type"] == "token.sampled" for event in self.events)


def read(base_url: httpx.URL, cookies: httpx.Cookies, reading: Reading, deadline: float) -> None:
    """Fill the reading until its end, or until the deadline."""
    last_id = ""
    # Without TLS: to load certificates would take longer than a first token.
    with httpx.Client(base_url=base_url, cookies=cookies, timeout=_SILENCE_S, verify=False) as client:
        while not reading.is_over and time.monotonic() < deadline:
            try:
                last_id = _connect(client, reading, last_id)
            except httpx.TransportError:
                time.sleep(_PAUSE_S)


def _connect(client: httpx.Client, reading: Reading, last_id: str) -> str:
    """One connection; returns the id to go on after."""
    headers, num_left = {"Last-Event-ID": last_id} if last_id else {}, reading.cuts.pop(0) if reading.cuts else -1
    with client.stream("GET", f"/api/requests/{reading.request_id}/events", headers=headers) as response:
        if response.status_code != 200:
            time.sleep(_PAUSE_S)
            return last_id
        try:
            for name, frame_id, data in _messages(response):
                last_id = frame_id
                if name == "frame":
                    _take(reading, json.loads(data))
                    num_left -= 1
                elif name == "again":
                    reading.num_again, reading.frames = reading.num_again + 1, []
                elif name == "end":
                    reading.is_over = True
                if num_left == 0 or name == "resume":
                    reading.num_cuts += name != "resume"
                    break
        except httpx.ReadTimeout:
            reading.num_silent += 1
        except httpx.TransportError:
            pass
    return last_id


def _take(reading: Reading, frame: dict[str, Any]) -> None:
    arrived = Arrived(time.monotonic(), frame["seq"], frame["events"])
    reading.arrivals.append(arrived)
    reading.frames.append(arrived)


def _messages(response: httpx.Response) -> Iterator[tuple[str, str, str]]:
    """Event, last id, data of each message; the id stays until another comes."""
    name, last_id, data = "", "", ""
    for raw in lines_of(response):
        key, _, value = raw.decode().partition(": ")
        if key == "event":
            name = value
        elif key == "id":
            last_id = value
        elif key == "data":
            data = value
        elif not raw and name:
            yield name, last_id, data
            name = data = ""


def follow(base_url: httpx.URL, cookies: httpx.Cookies, reading: Reading, limit_s: float) -> threading.Thread:
    """Read in a thread."""
    deadline = time.monotonic() + limit_s
    thread = threading.Thread(target=read, args=(base_url, cookies, reading, deadline), daemon=True)
    thread.start()
    return thread
