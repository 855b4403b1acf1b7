"""The processor time of three lifecycle workers that watch 1,000 open requests beside 100,000 settled ones."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tests.faults.conftest import until
from tests.scoreboard.bulk import copy_settled
from tests.scoreboard.row import Measured, Setting, judged
from tests.scoreboard.standing import standing
from tests.scoreboard.usage import cpu_s
from webapp.operations.supervisor.child import Child

_NUM_WORKERS, _NUM_OPEN, _NUM_SETTLED = 3, 1000, 100_000
_START_S, _WATCH_S, _APPEND_S = 10.0, 60.0, 10.0
_DEFAULT = {"SIGHTGLASS_QUEUE_TIMEOUT_S": "30", "SIGHTGLASS_STALL_TIMEOUT_S": "30"}
"""The product's own: the watchdog looks at every open request in a third of it."""
_MOST = 0.05


def run(setting: Setting) -> list[Measured]:
    with standing(setting.folder / "watching", **_DEFAULT) as found:
        site = found.site
        workers = [site.lifecycle, *(site.start_lifecycle() for _ in range(_NUM_WORKERS - 1))]
        until(lambda: workers[-1].log().count(" ready.") > 0, 60)
        user_id = int(site.client.get("/api/session").json()["user"]["id"])
        copy_settled(site, found.settled, _NUM_SETTLED)
        open_ids = found.open([user_id], _NUM_OPEN)
        time.sleep(_START_S)
        began, used, redis, num_read = time.monotonic(), _used(workers), cpu_s(site.redis.pid), found.num_rows_read()
        while time.monotonic() - began < _WATCH_S:
            time.sleep(_APPEND_S)
            found.append(open_ids)
        seconds = time.monotonic() - began
        share = (_used(workers) - used) / seconds
        of_redis = (cpu_s(site.redis.pid) - redis) / seconds
        num_read, num_left = found.num_rows_read() - num_read, found.num_open()
    figure = (
        f"{100 * share:.1f} % of a core for {_NUM_WORKERS} workers together, Redis {100 * of_redis:.1f} %; "
        f"PostgreSQL, {num_read:,} rows read by scans"
    )
    problems = [] if share <= _MOST else [f"{100 * share:.1f} % of a core"]
    problems += [] if num_read < _NUM_SETTLED else [f"scans read {num_read:,} rows"]
    if num_left != _NUM_OPEN:
        problems.append(f"{num_left} of {_NUM_OPEN} requests are still open")
    return [judged("watching", figure, problems)]


def _used(workers: Sequence[Child]) -> float:
    return sum(cpu_s(worker.pid) for worker in workers)
