"""Redis is killed and started again under a few streams, in turns with its data and without."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import httpx

from tests.faults.conftest import kill, until
from tests.scoreboard.answering import load, named, num_done, wait_for_tokens, wrong
from tests.scoreboard.fleet import Fleet, fleet
from tests.scoreboard.model import NONSENSE
from tests.scoreboard.reader import Reading, follow
from tests.scoreboard.row import Measured, Setting, judged
from tests.scoreboard.streams import is_away

NUM_RESTARTS, NUM_WORKERS = 20, 2
_LIMIT_S, _PATIENCE_S = 10.0, 60.0


def run(setting: Setting) -> list[Measured]:
    folder, taken_s = setting.folder / "redis", list[float]()
    with fleet(folder, NUM_WORKERS) as found:
        with load(found.site) as streams:
            while len(taken_s) < NUM_RESTARTS and setting.has_time():
                wait_for_tokens(streams)
                taken_s.append(_restart(found, folder / "data" / "redis", keeps=len(taken_s) % 2 == 0))
        problems = wrong(streams)
    if len(taken_s) < NUM_RESTARTS:
        problems.insert(0, f"{len(taken_s)} of {NUM_RESTARTS} restarts in the time")
    if max(taken_s, default=0.0) > _LIMIT_S:
        problems.insert(0, f"tasks again after {max(taken_s, default=0.0):.1f} s")
    figure = (
        f"{len(taken_s)} restarts, half without data: tasks again after {max(taken_s, default=0.0):.1f} s at worst; "
    )
    figure += f"{num_done(streams)} answers whole{named(streams)}, {len(streams.refusals)} messages refused"
    return [judged("redis", figure, problems)]


def _restart(found: Fleet, data: Path, keeps: bool) -> float:
    """Return the time from the start of Redis until each worker has begun a task that was sent after it."""
    kill(found.site.redis)
    if not keeps:
        shutil.rmtree(data)
    at = time.monotonic()
    found.site.redis = found.site.start_redis()
    wanted, readings = {child.pid for child in found.children()}, list[Reading]()

    def have_begun() -> bool:
        if all(reading.is_over for reading in readings):  # a user may have few requests open
            readings.extend(_send_two(found))
        begun = {worker for reading in readings if (worker := reading.worker())}
        return wanted <= {int(worker.split(":")[-2]) for worker in begun}

    until(have_begun, _PATIENCE_S)
    return time.monotonic() - at


def _send_two(found: Fleet) -> list[Reading]:
    """Send two short messages at once, which go to two workers; none while the site refuses them."""
    readings = []
    try:
        for _ in range(NUM_WORKERS):
            readings.append(Reading(found.site.send("Hello", **NONSENSE | {"max_tokens": 16})))
    except httpx.HTTPError as error:
        if not is_away(error):
            raise
        time.sleep(0.1)
    for reading in readings:
        follow(found.site.client.base_url, found.site.client.cookies, reading, _PATIENCE_S)
    return readings
