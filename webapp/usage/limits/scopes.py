"""The subjects whose limits concern a request, each with its amounts: its user, and the shared rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from webapp.usage.limits.effective import Effective
from webapp.usage.limits.models import SharedRule
from webapp.usage.limits.rates import Bucket, Kind

Subject = Literal["user", "key", "group", "model", "site"]
RATES: dict[Kind, str] = {
    "requests": "requests_per_minute",
    "input_tokens": "input_tokens_per_minute",
    "output_tokens": "output_tokens_per_minute",
}


@dataclass(frozen=True)
class Scope:
    """One subject, and what it may take."""

    kind: Subject
    name: str
    """As in `rates.Bucket.subject`."""
    amounts: Effective | SharedRule
    user_id: int | None = None
    """None: the requests of several users count."""
    group_id: int | None = None
    key_id: int | None = None
    model: str = ""

    def buckets(self) -> list[Bucket]:
        found = ((kind, getattr(self.amounts, column)) for kind, column in RATES.items())
        return [Bucket(self.name, kind, limit) for kind, limit in found if limit is not None]

    @property
    def has_budget(self) -> bool:
        return self.amounts.daily_budget_nano is not None or self.amounts.monthly_budget_nano is not None


def scopes_of(user_id: int, effective: Effective, rules: Sequence[SharedRule]) -> list[Scope]:
    """Return the user's scope, then those of the shared rules."""
    return [Scope("user", f"user:{user_id}", effective, user_id=user_id), *map(_scope_of, rules)]


def _scope_of(rule: SharedRule) -> Scope:
    kind: Subject = (
        "model" if rule.model else "group" if rule.group_id else "key" if rule.key_id is not None else "site"
    )
    return Scope(kind, rule.subject, rule, rule.user_id, rule.group_id, rule.key_id, rule.model)
