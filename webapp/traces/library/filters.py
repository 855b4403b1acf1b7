"""The trace library's filters. Pure: names and texts in, conditions out.

Ranges of times are in µs and of costs in billionths of the currency unit, as in RequestSummary. A range includes both
ends. Days are in UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from difflib import get_close_matches
from typing import get_args
from urllib.parse import parse_qsl

from django.db.models import Q

from inference.protocol.request import FinishReason
from webapp.requests.models import Request
from webapp.requests.outcome import VERDICTS
from webapp.traces.library.order import Order

NOT_CHECKED = "none"
"""Value of the verdict filter: no check is recorded."""
_MAX_CONDITIONS = 20
"""Each tag is a join, and SQLite allows 64."""
_MAX_FIELDS = 64
"""Limit on a query's fields, empty ones included."""
_MAX_CHARS = 200
_MAX_FIGURE = 2**53

Condition = Callable[[str], Q]


class FilterError(Exception):
    """A filter is invalid; the message has advice."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def conditions(asked: Iterable[tuple[str, str]]) -> list[Q]:
    """Return one condition per name and text, all to be met; an empty text is ignored. Raises FilterError."""
    found = [(name, text) for name, text in asked if text]
    if len(found) > _MAX_CONDITIONS:
        raise FilterError(found[-1][0], f"You can use at most {_MAX_CONDITIONS} filters together, not {len(found)}.")
    return [_condition(name, text) for name, text in found]


def conditions_of(query: str) -> list[Q]:
    """Return conditions() of an address's query string."""
    try:
        return conditions(parse_qsl(query, max_num_fields=_MAX_FIELDS))
    except ValueError:
        raise FilterError("query", f"A query may have at most {_MAX_FIELDS} fields.") from None


def _condition(name: str, text: str) -> Q:
    if name not in _CONDITIONS:
        raise FilterError(name, f"There is no filter {name!r}; {_known_like(name)}")
    if len(text) > _MAX_CHARS or "\x00" in text:
        raise FilterError(name, f"{name} may have at most {_MAX_CHARS} characters, and no NUL.")
    try:
        return _CONDITIONS[name](text)
    except ValueError as error:
        raise FilterError(name, f"{name} {error}.") from None


def _known_like(name: str) -> str:
    near = get_close_matches(name, _CONDITIONS, n=1)
    return f"did you mean {near[0]!r}?" if near else f"use {', '.join(_CONDITIONS)}."


def _same(field: str) -> Condition:
    return lambda text: Q(**{field: text})


def _one_of(field: str, known: Iterable[str]) -> Condition:
    words = list(known)

    def condition(text: str) -> Q:
        if text not in words:
            raise ValueError(f"must be one of {', '.join(words)}, not {text!r}")
        return Q(**{f"{field}__isnull": True}) if text == NOT_CHECKED else Q(**{field: text})

    return condition


def _bound(field: str, comparison: str) -> Condition:
    def condition(text: str) -> Q:
        if not (text.isascii() and text.isdigit() and int(text) <= _MAX_FIGURE):
            raise ValueError(f"must be a whole number from 0 to {_MAX_FIGURE}, not {text!r}")
        return Q(**{f"{field}__{comparison}": int(text)})

    return condition


def _flag(field: str) -> Condition:
    def condition(text: str) -> Q:
        if text not in ("true", "false"):
            raise ValueError(f"must be true or false, not {text!r}")
        return Q(**{field: True}) if text == "true" else ~Q(**{field: True})

    return condition


def _since(text: str) -> Q:
    return Q(created_at__gte=_moment(text))


def _until(text: str) -> Q:
    """Before a time, or up to the end of a day."""
    return Q(created_at__lt=_moment(text, timedelta(days=1)) if _is_day(text) else _moment(text))


def _is_day(text: str) -> bool:
    return len(text) == len("2026-01-31")


def _moment(text: str, later: timedelta = timedelta()) -> datetime:
    try:
        if _is_day(text):
            return datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC) + later
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError(
            f"must be a day such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z, not {text!r}"
        ) from None


def _order(text: str) -> Q:
    """Check the order of the rows, which excludes none. It is among the filters in an address and in a saved view."""
    Order.of(text)
    return Q()


_CONDITIONS: dict[str, Condition] = {
    "q": _same("trace__entry__search_text__icontains"),
    "model": _same("model"),
    "surface": _same("surface"),
    "rerun": _same("run__rerun"),
    "status": _one_of("status", Request.Status.values),
    "finish_reason": _one_of("finish_reason", get_args(FinishReason)),
    "verdict": _one_of("safety_verdict", [*VERDICTS, NOT_CHECKED]),
    "tag": _same("trace__entry__tags__name"),
    "is_pinned": _flag("trace__entry__is_pinned"),
    "is_imported": _flag("is_imported"),
    "since": _since,
    "until": _until,
    "sort": _order,
} | {
    f"{field}_{end}": _bound(field, comparison)
    for field in ("first_token_us", "first_text_us", "duration_us", "cost_nano")
    for end, comparison in (("min", "gte"), ("max", "lte"))
}
