"""The choice of a worker for a generation: the one that can begin it soonest. Pure.

A worker that holds the prompt's beginning in its prefix cache reads less of it. A worker with fewer requests computes
each of them faster. Both are counted in prompt tokens (compare Preble, arXiv 2407.00023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TOKENS_PER_REQUEST = 64
"""Prompt tokens whose reading delays a request as much as one more request at its worker does.

`python -m benchmarks.placement` compares values.
"""
HINT_TOKENS = 4 * TOKENS_PER_REQUEST
"""Prompt tokens that a client's routing hint is worth: its worker is chosen unless it has four requests more."""
_MOST_ASKED = 8
"""Workers that are asked for their cached tokens: the principal's last ones, and the least loaded."""
NUM_RECENT = 4


@dataclass(frozen=True)
class Candidate:
    """A worker with the model of a request."""

    name: str
    num_requests: int
    """Open requests placed on it."""
    num_places: int
    num_cached: int = 0
    """The prompt's tokens in its prefix cache."""
    is_hinted: bool = False
    """It served the last request with the same routing hint."""


def choose(candidates: Sequence[Candidate], tokens_per_request: int = TOKENS_PER_REQUEST) -> Candidate | None:
    """Return the worker that can begin soonest; None: no worker has a free place."""
    free = [each for each in candidates if each.num_requests < each.num_places]
    delays = {
        each: tokens_per_request * each.num_requests - each.num_cached - HINT_TOKENS * each.is_hinted for each in free
    }
    return min(free, key=lambda each: (delays[each], each.num_requests, each.name), default=None)


def worth_asking(candidates: Sequence[Candidate], recent: Sequence[str]) -> list[Candidate]:
    """Return the few workers among which the choice is made. recent: names, the latest first."""
    known = {each.name: each for each in candidates}
    last = [known[name] for name in dict.fromkeys(recent) if name in known][:NUM_RECENT]
    idle = sorted((each for each in candidates if each not in last), key=lambda each: (each.num_requests, each.name))
    return [*last, *idle][:_MOST_ASKED]
