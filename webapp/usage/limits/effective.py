"""The limits and flags in force for a user, from the rules that concern the user. Pure.

A user's own rule decides. Where it does not say, the most generous rule of the user's groups decides: membership
grants, as it does for permissions. Then the site's rule decides, and at last the product's default. A stop in any of
these rules holds, also that of a group which the user only views.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from webapp.usage.limits.models import AMOUNTS, FLAGS

Source = Literal["user", "group", "site", "product"]


@dataclass(frozen=True)
class Values:
    """What one rule says. None: it does not."""

    max_open: int | None = None
    requests_per_minute: int | None = None
    input_tokens_per_minute: int | None = None
    output_tokens_per_minute: int | None = None
    tokens_per_day: int | None = None
    daily_budget_nano: int | None = None
    monthly_budget_nano: int | None = None
    may_share: bool | None = None
    may_probe: bool | None = None
    may_rerun: bool | None = None
    stop_reason: str | None = None
    """None: it stops no user."""

    @property
    def is_limiting(self) -> bool:
        """It names a limit or a flag."""
        return any(getattr(self, name) is not None for name in (*AMOUNTS, *FLAGS))


@dataclass(frozen=True)
class Effective:
    """The limits and flags in force. None: there is no limit."""

    max_open: int
    requests_per_minute: int | None
    input_tokens_per_minute: int | None
    output_tokens_per_minute: int | None
    tokens_per_day: int | None
    daily_budget_nano: int | None
    monthly_budget_nano: int | None
    may_share: bool
    may_probe: bool
    may_rerun: bool
    stop_reason: str | None
    """None: the user may send."""
    sources: dict[str, Source]
    """Per name the kind of rule that decided."""
    views_only: bool = False
    """The user is a viewer in each of the own groups, and begins no work."""


def effective(
    own: Values, groups: Sequence[Values], site: Values, max_open: int, viewed: Sequence[Values] = ()
) -> Effective:
    """Join the rules. max_open: the product's own limit of open requests.

    viewed: rules of groups that the user only views. A stop in one of them holds, and nothing else.
    """
    product = Values(max_open=max_open, may_share=True, may_probe=True, may_rerun=True)
    group = Values(**{name: _most([getattr(each, name) for each in groups]) for name in (*AMOUNTS, *FLAGS)})
    levels: list[tuple[Source, Values]] = [("user", own), ("group", group), ("site", site), ("product", product)]
    found: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    for name in (*AMOUNTS, *FLAGS):
        said = [(source, getattr(level, name)) for source, level in levels if getattr(level, name) is not None]
        sources[name], found[name] = said[0] if said else ("product", None)
    stops = [each.stop_reason for each in (own, *groups, *viewed, site) if each.stop_reason is not None]
    return Effective(**found, stop_reason=stops[0] if stops else None, sources=sources)


def _most(values: list[Any]) -> Any:
    """The most generous of the values that are said."""
    return max((value for value in values if value is not None), default=None)
