"""Whose turn it is: counts the service that each user's requests got. Knows nothing of sequences.

The virtual token counter (VTC, arXiv 2401.00588): the user who has been given least goes first. A user who comes back
starts from the least of those who are there: time away is no credit.
"""

from __future__ import annotations

from collections.abc import Iterable

INPUT_WEIGHT, OUTPUT_WEIGHT = 1, 2
"""What a computed prompt token and a decoded one count, as in the paper."""


class ServiceCounter:
    """Weighted tokens per user."""

    def __init__(self) -> None:
        self._served: dict[str, int] = {}

    def arrive(self, user: str, present: Iterable[str]) -> None:
        """A request of this user has come; present: users who have requests in the engine already."""
        others = {name: self._served.get(name, 0) for name in present}
        if user in others:
            return
        least = min(others.values(), default=None)
        if least is None:  # an idle engine owes nobody anything
            self._served.clear()
            return
        # Users who are away and have had no more than the least would be lifted to it anyway.
        self._served = {name: served for name, served in self._served.items() if name in others or served > least}
        self._served[user] = max(self._served.get(user, 0), least)

    def charge(self, user: str, cost: int) -> None:
        self._served[user] = self._served.get(user, 0) + cost

    def served(self, user: str) -> int:
        return self._served.get(user, 0)
