"""A few answers that stream while something is done to the product, and all that is wrong with them in the end.

Knows nothing of what is done.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tests.faults.conftest import until
from tests.scoreboard.answers import billed_twice, unsettled
from tests.scoreboard.model import NONSENSE
from tests.scoreboard.reader import Reading, read
from tests.scoreboard.site import Site
from tests.scoreboard.streams import Params, Streams, is_away

PROMPT = "Write a very long story about a river."
_NUM_TOKENS = 600
_PATIENCE_S = 60.0


@contextmanager
def load(site: Site, num_streams: int = 4) -> Iterator[Streams]:
    """Let answers stream, each begun again once it has ended; at the end the open ones are read to their ends."""
    params = [NONSENSE | {"seed": seed, "max_tokens": _NUM_TOKENS} for seed in range(num_streams)]
    streams = Streams(site, PROMPT, params, may_be_away=True)
    streams.learn()
    streams.start()
    try:
        yield streams
    finally:
        streams.stop()


def wait_for_tokens(streams: Streams) -> None:
    """Until each stream has a request under way with a token."""
    num = len(streams.params)
    until(lambda: sum(reading.num_tokens() > 0 for reading in streams.open()) >= num, _PATIENCE_S)


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
    return [*found, *bills, *twice, *streams.problems]
