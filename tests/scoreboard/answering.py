"""A few answers that stream while something is done to the product, and all that is wrong with them in the end.

Knows nothing of what is done.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.faults.conftest import until
from tests.scoreboard.answers import billed_twice, unsettled
from tests.scoreboard.model import NONSENSE
from tests.scoreboard.reader import Reading, read
from tests.scoreboard.site import Site
from tests.scoreboard.streams import Params, Streams, is_away

PROMPT = "Write a very long story about a river."
_NUM_TOKENS = (60, 120, 300, 600)
"""Of the streams' answers: some begin and end in each fault, others go on through it."""
_PATIENCE_S = 60.0


@contextmanager
def load(site: Site) -> Iterator[Streams]:
    """Let answers stream, each begun again once it has ended; at the end the open ones are read to their ends."""
    params = [NONSENSE | {"seed": num, "max_tokens": num} for num in _NUM_TOKENS]
    streams = Streams(site, PROMPT, params, may_be_away=True)
    streams.learn()
    streams.start()
    try:
        yield streams
    finally:
        streams.stop()


def wait_for_tokens(streams: Streams) -> None:
    """Until half of the streams have a request under way with a token."""
    num = len(streams.params) // 2
    until(lambda: sum(reading.num_tokens() > 0 for reading in streams.open()) >= num, _PATIENCE_S)


def wait_for_ends(streams: Streams, readings: Sequence[Reading], what: str) -> None:
    """Until these answers are over. One that hangs is a problem."""
    deadline = time.monotonic() + _PATIENCE_S
    while not all(reading.is_over for reading in readings) and time.monotonic() < deadline:
        time.sleep(0.05)
    hanging = [reading.request_id for reading in readings if not reading.is_over]
    streams.problems += [f"{what}: {request_id} hangs" for request_id in hanging]


def wait_for_answer(site: Site, limit_s: float = _PATIENCE_S) -> Reading:
    """Send a short message, again while the site is away, until one is answered."""
    deadline = time.monotonic() + limit_s
    while True:
        assert time.monotonic() < deadline, "no message was answered"
        try:
            reading = answer(site, NONSENSE | {"max_tokens": 2}, deadline)
            if reading.is_over and reading.events[-1]["type"] == "request.finished":
                return reading
        except Exception as error:
            if not is_away(error):
                raise
        time.sleep(0.05)


def answer(site: Site, params: Params, deadline: float) -> Reading:
    """Send one message and read its answer to the end."""
    reading = Reading(site.send(PROMPT, **params))
    read(site.client.base_url, site.client.cookies, reading, deadline)
    return reading


def named(streams: Streams) -> str:
    """The ends that are no whole answers, by name."""
    counts = Counter(each.code for each in streams.ended if each.code)
    return "".join(f", {num} ended as {code}" for code, num in counts.items())


def num_done(streams: Streams) -> int:
    return sum(each.found is not None for each in streams.ended)


def wrong(streams: Streams) -> list[str]:
    """Where answers, traces and bills differ from what they should be. Requests that failed by name are none of it."""
    until(lambda: not unsettled(streams.site), _PATIENCE_S)
    found = [problem for each in streams.ended if each.found for problem in each.found.problems]
    bills = [problem for each in streams.ended for problem in each.bill]
    twice = [f"{request_id} is billed twice" for request_id in billed_twice(streams.site)]
    num_silent = sum(each.reading.num_silent for each in streams.ended)
    silent = [f"{num_silent} streams fell silent until their clients gave up"] if num_silent else []
    return [*found, *bills, *twice, *silent, *streams.problems]
