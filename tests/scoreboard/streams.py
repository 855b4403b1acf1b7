"""Eight answers at a time, each begun again once it has ended, all with known undisturbed answers.

Knows nothing of the faults that meet them.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.scoreboard.answers import Compared, bill_problems, compared, failed_bill_problems
from tests.scoreboard.reader import Arrived, Reading, read
from tests.scoreboard.site import Site

_END_S = 180.0
_CUT_AFTER = 400
"""A client cuts its connection after so many frames at most."""

Params = Mapping[str, object]


@dataclass
class Ended:
    """An answer that is over: what is wrong with it and with its bill."""

    reading: Reading
    found: Compared | None
    """None: it was ended by name."""
    bill: list[str]
    code: str = ""
    """The name of its failure."""


@dataclass
class Streams:
    """Threads that each send, read and check one answer after the other."""

    site: Site
    prompt: str
    params: Sequence[Params]
    undisturbed: list[list[dict[str, Any]]] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    """Messages that were not taken, in words."""
    may_be_away: bool = False
    """The site may refuse messages for a moment: it cannot be reached, or says 503. Else a refusal is a problem."""
    cut_draws: random.Random | None = None
    """Not None: clients cut their connections after drawn numbers of frames."""

    def __post_init__(self) -> None:
        self._open: dict[int, Reading] = {}
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n,), daemon=True) for n in range(len(self.params))]

    def learn(self) -> None:
        """Read each answer once while nothing disturbs it."""
        self.undisturbed = [self._answer(n).events for n in range(len(self.params))]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let the open ones end."""
        self._stop.set()
        for thread in self._threads:
            thread.join(_END_S)
        self.problems += [f"{each.request_id} did not end" for each in self.open()]

    def open(self) -> list[Reading]:
        """Those that are being read."""
        return [reading for reading in list(self._open.values()) if not reading.is_over]

    def _run(self, number: int) -> None:
        while not self._stop.is_set():
            try:
                reading = self._answer(number)
                if reading.is_over:
                    self.ended.append(checked(self.site, reading, self.undisturbed[number]))
                    del self._open[number]
            except Exception as error:  # the next message may be taken
                told = self.refusals if self.may_be_away and is_away(error) else self.problems
                told.append(f"{type(error).__name__}: {error}")
                time.sleep(0.5)

    def _answer(self, number: int) -> Reading:
        cuts = [self.cut_draws.randint(1, _CUT_AFTER) for _ in range(8)] if self.cut_draws else []
        reading = Reading(self.site.send(self.prompt, **self.params[number]), cuts)
        self._open[number] = reading
        read(self.site.client.base_url, self.site.client.cookies, reading, time.monotonic() + _END_S)
        return reading


def checked(site: Site, reading: Reading, undisturbed: list[dict[str, Any]]) -> Ended:
    """Compare an answer that is over with its undisturbed one, as it came and as it is saved, and look at its bill."""
    events = reading.events
    if events[-1]["type"] == "request.failed":
        return Ended(reading, None, failed_bill_problems(site, reading.request_id), events[-1]["code"])
    found = compared(reading.frames, undisturbed)
    saved = Reading(reading.request_id)
    read(site.client.base_url, site.client.cookies, saved, time.monotonic() + _END_S)
    if compared(saved.frames, undisturbed).problems:
        found.problems.append("the saved trace differs")
    return Ended(reading, found, bill_problems(site, reading.request_id, events))


def is_away(error: Exception) -> bool:
    """Whether a message was refused because the site, or a part that it needs, is away.

    A request whose reply was lost counts as open until it is settled: the user's limit may then refuse the next one.
    """
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in (429, 503)
    return isinstance(error, httpx.TransportError)


def next_token_at(arrivals: Sequence[Arrived], after: float) -> float | None:
    """When the first token of another attempt came after a moment; None: none has come."""
    is_resumed = False
    for frame in arrivals:
        if frame.at < after:
            continue
        for event in frame.events:
            is_resumed = is_resumed or event["type"] in ("generation.resumed", "generation.started")
            if is_resumed and event["type"] == "token.sampled":
                return frame.at
    return None
