"""Each process of a supervised product is killed at each stage of a request, first on SQLite, then on PostgreSQL.

The supervisor is the last of each stage: a process that ends soon after its start is started again later each time.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.faults.conftest import until
from tests.postgres_servers import Server, new_database, postgres_server
from tests.scoreboard.answering import PROMPT, answer, wait_for_answer
from tests.scoreboard.answers import billed_twice, of, unsettled
from tests.scoreboard.model import NONSENSE
from tests.scoreboard.reader import Reading, follow
from tests.scoreboard.row import Measured, Setting, judged, worst_of
from tests.scoreboard.streams import Ended, checked
from tests.scoreboard.supervised import Supervised, supervised

PARTS = ("web", "lifecycle", "inference", "probes", "sender", "redis", "postgres", "supervisor")
NUM_TOKENS = 300
_PARAMS = NONSENSE | {"seed": 3, "max_tokens": NUM_TOKENS}
_LIMIT_S = 10.0
_PATIENCE_S = 60.0
_POLL_S = 0.005

STAGES: dict[str, Callable[[Reading], bool]] = {
    "accepted": lambda _reading: True,
    "queued": lambda reading: bool(of(reading.events, "generation.queued")),
    "first token": lambda reading: reading.num_tokens() >= 1,
    "middle": lambda reading: reading.num_tokens() >= NUM_TOKENS // 2,
    "last token": lambda reading: reading.num_tokens() >= NUM_TOKENS,
    "settled": lambda reading: bool(of(reading.events, "bill.posted")),
}
"""A client sees these of the eight stages; `prepared` comes with `queued`, and `billed` with `settled`."""


@dataclass
class Cells:
    """What the kills so far have met."""

    healthy_s: dict[str, float] = field(default_factory=dict)
    """From each kill until a new message is answered, by cell."""
    ended: list[Ended] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def run(setting: Setting) -> list[Measured]:
    cells = Cells()
    half = setting.deadline - (setting.deadline - time.monotonic()) / 2
    with supervised(setting.folder / "sqlite") as site:
        _round(cells, site, None, half)
    with postgres_server() as server:
        url = new_database(server.url, "product")
        with supervised(setting.folder / "postgres", SIGHTGLASS_DATABASE_URL=url) as site:
            _round(cells, site, server, setting.deadline)
    return [_judged(cells)]


def _judged(cells: Cells) -> Measured:
    named = Counter(each.code for each in cells.ended if each.code)
    num_done = sum(each.found is not None for each in cells.ended)
    ends = "".join(f", {num} ended as {code}" for code, num in named.items())
    late = [f"{cell}: healthy after {s:.1f} s" for cell, s in cells.healthy_s.items() if s > _LIMIT_S]
    num_wanted = len(STAGES) * (2 * len(PARTS) - 1)
    short = [] if len(cells.healthy_s) == num_wanted else [f"{len(cells.healthy_s)} of {num_wanted} cells in the time"]
    one = {cell: s for cell, s in cells.healthy_s.items() if not cell.startswith("supervisor")}
    whole = {cell: s for cell, s in cells.healthy_s.items() if cell.startswith("supervisor")}
    figure = f"{len(cells.healthy_s)} kills: {num_done} answers done{ends}; a message is answered after {worst_of(one)}"
    figure += f", and where the whole product starts again after {worst_of(whole)}"
    return judged("any process", figure, [*short, *cells.problems, *late])


def _round(cells: Cells, site: Supervised, server: Server | None, deadline: float) -> None:
    """All stages by all parts, or as many as there is time for."""
    undisturbed = answer(site, _PARAMS, time.monotonic() + _PATIENCE_S).events
    database = "PostgreSQL" if server else "SQLite"
    for stage in reversed(STAGES) if server else STAGES:  # time that is short leaves out no stage
        for part in PARTS:
            if time.monotonic() < deadline and (server or part != "postgres"):
                _kill(cells, site, server, f"{part}, {stage}, {database}", undisturbed)
    until(lambda: not unsettled(site), _PATIENCE_S)
    cells.problems += [f"{request_id} is billed twice" for request_id in billed_twice(site)]


def _kill(
    cells: Cells, site: Supervised, server: Server | None, cell: str, undisturbed: Sequence[dict[str, Any]]
) -> None:
    """Kill one part at one stage of a request, and look at all that the promise names."""
    part, stage, _ = cell.split(", ")
    reading = Reading(site.send(PROMPT, **_PARAMS))
    follow(site.client.base_url, site.client.cookies, reading, _PATIENCE_S)
    _wait(lambda: STAGES[stage](reading) or reading.is_over)
    old, at = site.pids(), time.monotonic()
    if failed := _end(site, server, part):
        cells.problems.append(f"{cell}: the product did not start ({failed})")
    until(lambda: part == "postgres" or site.pids().get(part, old[part]) != old[part], _PATIENCE_S)
    wait_for_answer(site)
    cells.healthy_s[cell] = time.monotonic() - at
    _wait(lambda: reading.is_over)
    if not reading.is_over:
        cells.problems.append(f"{cell}: {reading.request_id} hangs")
        return
    _note(cells, cell, checked(site, reading, list(undisturbed)))
    if strays := _strays(site):
        cells.problems.append(f"{cell}: orphans {strays}")


def _end(site: Supervised, server: Server | None, part: str) -> str:
    """Kill a part. The operator's system starts the supervisor and PostgreSQL again, and the supervisor the others.

    Return what a start that failed said. It is tried once more.
    """
    if part == "postgres" and server:
        server.stop(signal.SIGKILL)
        server.start()
        return ""
    site.kill(part)
    if part != "supervisor":
        return ""
    try:
        site.start_again()
    except AssertionError as error:
        site.start_again()
        return str(error).strip()
    return ""


def _note(cells: Cells, cell: str, ended: Ended) -> None:
    found = [*(ended.found.problems if ended.found else []), *ended.bill]
    cells.ended.append(ended)
    cells.problems += [f"{cell}: {problem}" for problem in found]


def _strays(site: Supervised) -> list[int]:
    """Processes without an owner that are there for longer than the supervisor takes to look."""
    deadline = time.monotonic() + 5
    while (strays := site.strays()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return strays


def _wait(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not is_true() and time.monotonic() < deadline:
        time.sleep(_POLL_S)
