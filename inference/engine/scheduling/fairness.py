"""Counts the service that each principal's requests got, to order the principals. Knows nothing of sequences.

The virtual token counter (VTC, arXiv 2401.00588): the principal with the least service goes first. A principal that
comes back starts from the least of the present ones: time away is no credit.
"""

from __future__ import annotations

from collections.abc import Iterable

INPUT_WEIGHT, OUTPUT_WEIGHT = 1, 2
"""Weights of a computed prompt token and of a decoded one, as in the paper."""


class ServiceCounter:
    """Weighted tokens per principal."""

    def __init__(self) -> None:
        self._served: dict[str, int] = {}

    def arrive(self, principal: str, present: Iterable[str]) -> None:
        """Count in a principal whose request has come. present: principals with requests in the engine already."""
        others = {name: self._served.get(name, 0) for name in present}
        if principal in others:
            return
        least = min(others.values(), default=None)
        if least is None:  # an idle engine owes no principal anything
            self._served.clear()
            return
        # Absent principals with no more than the least would be lifted to it anyway.
        self._served = {name: served for name, served in self._served.items() if name in others or served > least}
        self._served[principal] = max(self._served.get(principal, 0), least)

    def charge(self, principal: str, cost: int) -> None:
        self._served[principal] = self._served.get(principal, 0) + cost

    def served(self, principal: str) -> int:
        return self._served.get(principal, 0)
