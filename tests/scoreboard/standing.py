"""A site whose requests stand still: they are open, have a lease and a log, and no worker runs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis

from inference.eventlog.leases import RedisLeases
from inference.eventlog.redis_log import RedisEventLog
from tests.events import STARTED
from tests.faults.conftest import Processes, kill
from tests.postgres_servers import new_database, postgres_server
from tests.scoreboard.bulk import copy_open
from tests.scoreboard.fleet import fleet
from tests.scoreboard.model import NONSENSE

_LEASE_S = 3600.0


@dataclass
class Standing:
    """A site on PostgreSQL, and one request that it has settled."""

    site: Processes
    settled: str

    def open(self, user_ids: Sequence[int], num: int) -> list[str]:
        """Open so many requests of each user; return their ids."""
        found = copy_open(self.site, self.settled, user_ids, num)
        leases = RedisLeases(redis.Redis.from_url(self.site.redis_url))
        for request_id in found:
            leases.grant(request_id, 1, _LEASE_S)
        self.append(found)
        return found

    def num_open(self) -> int:
        """Requests that are not settled."""
        return self._number("SELECT COUNT(*) FROM lifecycle_request WHERE finished_at IS NULL")

    def num_rows_read(self) -> int:
        """Rows of requests that the database has read by scans of the whole table."""
        return self._number("SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'lifecycle_request'")

    def num_queries(self) -> int:
        """Transactions of the database so far. A query outside of one counts as one."""
        return self._number("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")

    def _number(self, statement: str) -> int:
        with closing(self.site.connect()) as database:
            return int(database.execute(statement).fetchone()[0])

    def append(self, request_ids: Sequence[str]) -> None:
        """Let each log have one event more: a log that stays silent is looked at more closely."""
        log = RedisEventLog.from_url(self.site.redis_url)
        for request_id in request_ids:
            log.append(request_id, [STARTED], 1)


@contextmanager
def standing(folder: Path, **environment: str) -> Iterator[Standing]:
    """The worker that settled the request is gone."""
    with postgres_server() as server:
        url = new_database(server.url, "scoreboard")
        with fleet(folder, 1, SIGHTGLASS_DATABASE_URL=url, **environment) as found:
            request_id = found.site.send("Tell me of the river.", **NONSENSE, max_tokens=8)
            found.site.settled(request_id)
            kill(found.children()[0])
            yield Standing(found.site, request_id)
