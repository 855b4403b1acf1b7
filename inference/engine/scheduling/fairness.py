"""Counts the service that each user's requests got, to order the users. Knows nothing of sequences.

The virtual token counter (VTC, arXiv 2401.00588): the user with the least service goes first. A user who comes back
starts from the least of the present users: time away is no credit.
"""

from __future__ import annotations

from collections.abc import Iterable

INPUT_WEIGHT, OUTPUT_WEIGHT = 1, 2
"""Weights of a computed prompt token and of a decoded one, as in the paper."""


class ServiceCounter:
    """Weighted tokens per user."""

    def __init__(self) -> None:
        self._served: dict[str, int] = {}

    def arrive(self, user: str, present: Iterable[str]) -> None:
        """Count in a user whose request has come. present: users who have requests in the engine already."""
        others = {name: self._served.get(name, 0) for name in present}
        if user in others:
            return
        least = min(others.values(), default=None)
        if least is None:  # an idle engine owes no user anything
            self._served.clear()
            return
        # Absent users with no more than the least would be lifted to it anyway.
        self._served = {name: served for name, served in self._served.items() if name in others or served > least}
        self._served[user] = max(self._served.get(user, 0), least)

    def charge(self, user: str, cost: int) -> None:
        self._served[user] = self._served.get(user, 0) + cost

    def served(self, user: str) -> int:
        return self._served.get(user, 0)
