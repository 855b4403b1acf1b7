"""PostgreSQL is stopped at once, as after `pg_ctl stop -m immediate`, and started again under a few streams."""

from __future__ import annotations

import random
import signal
import time

from tests.postgres_servers import Server, new_database, postgres_server
from tests.scoreboard.answering import load, named, num_done, wait_for_answer, wait_for_ends, wait_for_tokens, wrong
from tests.scoreboard.fleet import fleet
from tests.scoreboard.row import Measured, Setting, judged
from tests.scoreboard.streams import Streams

NUM_STOPS = 10
_AWAY_S = 3.0
"""It is away for so long at most, drawn from the seed."""


def run(setting: Setting) -> list[Measured]:
    back_s, draws = list[float](), setting.draws
    with postgres_server() as server:
        url = new_database(server.url, "product")
        with fleet(setting.folder / "postgres", 2, SIGHTGLASS_DATABASE_URL=url) as found:
            with load(found.site) as streams:
                while len(back_s) < NUM_STOPS and setting.has_time():
                    back_s.append(_stop(server, streams, draws))
            problems = wrong(streams)
    problems += [f"{each.reading.request_id} ended as {each.code}" for each in streams.ended if each.code]
    if len(back_s) < NUM_STOPS:
        problems.insert(0, f"{len(back_s)} of {NUM_STOPS} stops in the time")
    figure = f"{len(back_s)} stops: {num_done(streams)} answers whole with one bill each{named(streams)}, "
    figure += f"{len(streams.refusals)} messages refused; answers again after {max(back_s, default=0.0):.1f} s at worst"
    return [judged("postgres", figure, problems)]


def _stop(server: Server, streams: Streams, draws: random.Random) -> float:
    """Return the time from the start of PostgreSQL until a new message is answered."""
    wait_for_tokens(streams)
    server.stop(signal.SIGQUIT)
    time.sleep(draws.uniform(0, _AWAY_S))
    server.start()
    at = time.monotonic()
    open_then = streams.open()
    wait_for_answer(streams.site)
    took_s = time.monotonic() - at
    wait_for_ends(streams, open_then, "after a stop")
    return took_s
