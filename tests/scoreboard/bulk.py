"""Many requests in a site's database at once, each a copy of one that the site has made. Knows nothing of their use."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from tests.faults.conftest import Processes

_OPEN: dict[str, str] = {"status": "'running'", "finished_at": "NULL", "finish_reason": "''"}
_NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {num})"


def copy_settled(site: Processes, request_id: str, num: int) -> None:
    """Insert settled copies of a settled request."""
    with closing(site.connect()) as database:
        _copy(database, request_id, num, {"id": "'req_settled' || n"})


def copy_open(site: Processes, request_id: str, user_ids: Sequence[int], num: int) -> list[str]:
    """Insert open copies for each of the users; return their ids."""
    with closing(site.connect()) as database:
        for user_id in user_ids:
            own = {"id": f"'req_open{user_id}x' || n", "user_id": str(user_id)}
            _copy(database, request_id, num, _OPEN | own)
    return [f"req_open{user_id}x{n}" for user_id in user_ids for n in range(1, num + 1)]


def _copy(database: Any, request_id: str, num: int, changes: dict[str, str]) -> None:
    """changes: the columns that differ, and their values in SQL."""
    names = [column[0] for column in database.execute("SELECT * FROM lifecycle_request LIMIT 0").description]
    values = ", ".join(changes.get(name, f"r.{name}") for name in names)
    columns = ", ".join(names)
    database.execute(
        f"INSERT INTO lifecycle_request ({columns}) {_NUMBERS.format(num=num)} "
        f"SELECT {values} FROM lifecycle_request r, numbers WHERE r.id = '{request_id}'"
    )
    database.commit()
