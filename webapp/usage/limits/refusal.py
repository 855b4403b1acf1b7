"""Why a request or an action is refused, in words for its user. Knows nothing of HTTP's answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from inference.protocol.events import Limit
from webapp.ground.gateway.refusal import Refusal
from webapp.usage.limits.rates import Level

Work = Literal["answers", "embeddings"]
"""The kind of result that a request asks for."""
_PASSING_S = 60
"""Rates are of a minute."""
_LIMIT_CODES = ("rate_limited", "day_used_up", "budget_used_up", "overloaded", "too_many_open")
"""A limit refuses with these. With every other code an operator has forbidden the action."""


class Refused(Refusal):
    """A limit, a flag or a stop stands against it."""

    def __init__(self, code: str, message: str, retry_after_s: int = 0, limit: str = "") -> None:
        super().__init__(message)
        self.status = 429 if code in _LIMIT_CODES else 403
        self.code = code
        """Stable word, for programs."""
        self.retry_after_s = retry_after_s
        """0: waiting does not help."""
        self.limit = limit
        """Name of the limit where several have the same code."""
        self.by: Limit | None = None
        """The limit that refuses, as it stood. None: no limit with an amount does."""
        self.num_asked: int | None = None
        """Amount that was asked of it."""
        self.limits: tuple[Limit, ...] = ()
        """The state of all rates, where one of them refuses."""

    @property
    def is_passing(self) -> bool:
        """Waiting for a minute or less helps: a rate fills, or open requests end."""
        return 0 < self.retry_after_s <= _PASSING_S

    @property
    def can_never_pass(self) -> bool:
        """More is asked for than the limit holds when it is full."""
        return self.by is not None and self.num_asked is not None and self.num_asked > self.by.limit

    def due_to(self, limit: Limit, num_asked: int | None = None) -> Self:
        """Name the limit that refuses, and the amount that was asked of it."""
        self.by, self.num_asked = limit, num_asked
        return self

    @property
    def cause(self) -> str:
        """The word for the record of use."""
        return f"{self.code}:{self.limit}" if self.limit else self.code


def sending_stopped(reason: str) -> Refused:
    because = f": {reason.rstrip('.')}" if reason else ""
    return Refused("sending_stopped", f"An operator has stopped your sending{because}. Ask the operator to undo it.")


def views_only() -> Refused:
    why = "You are a viewer in each of your groups, and a viewer begins no work."
    return Refused("views_only", f"{why} Ask an owner of a group to make you a member.")


_OWNERS = {
    "user": "your limit",
    "key": "the limit of your key",
    "group": "the limit of your group's members together",
    "model": "the limit of this model",
    "site": "the limit of all users together",
}
_UNITS = {"requests": "request", "input_tokens": "input token", "output_tokens": "output token"}


_SHORTER = {"answers": "Send a shorter conversation, or ask for fewer answers.", "embeddings": "Send shorter texts."}
_CHEAPER = {"answers": "shorter or fewer answers", "embeddings": "embeddings of fewer or shorter texts"}


def too_fast(levels: Sequence[Level], totals: Sequence[int], limits: Sequence[Limit], work: Work) -> Refused:
    """The refusal by the rate that needs the longest wait, or that never lets so much through."""
    waits = [level.wait_ms(total) for level, total in zip(levels, totals, strict=True)]
    never = [at for at, wait in enumerate(waits) if wait is None]
    at = never[0] if never else max(range(len(waits)), key=lambda each: waits[each] or 0)
    refused = _too_fast(limits[at], totals[at], waits[at], work)
    refused.limits = tuple(limits)
    return refused.due_to(limits[at], totals[at])


def _too_fast(limit: Limit, total: int, wait_ms: int | None, work: Work) -> Refused:
    """wait_ms: None where waiting does not help."""
    owner, kind = _OWNERS[limit.subject], limit.name
    rate = f"{limit.limit:,} {_UNITS[kind]}{'' if limit.limit == 1 else 's'} a minute"
    if wait_ms is None:
        asked = f"{total:,} {work}" if kind == "requests" else f"some {total:,} {_UNITS[kind]}s"
        advice = "Ask for fewer." if kind == "requests" else _SHORTER[work]
        return Refused("rate_limited", f"You asked for {asked}; {owner} is {rate}. {advice}", limit=kind)
    wait_s = max(1, -(-wait_ms // 1000))
    return Refused("rate_limited", f"You have reached {owner} of {rate}. Try again in {wait_s} s.", wait_s, kind)


def budget_used_up(budget: Limit, nano: int, wait_s: int, work: Work) -> Refused:
    """nano: the highest cost of what is asked for."""
    limit, remaining, asked = (_money(each, budget.currency) for each in (budget.limit, budget.remaining, nano))
    named = "daily budget" if budget.name == "daily_budget" else "monthly budget"
    owner = _OWNERS[budget.subject].replace("limit", named)
    left = f"{remaining} of {owner} of {limit} is left, and this may cost up to {asked}."
    if not wait_s:
        advice = f"Ask for {_CHEAPER[work]}."
    elif wait_s < 60:
        advice = f"Open requests reserve a part. Try again in {wait_s} s, or ask for {_CHEAPER[work]}."
    else:
        period = "day" if budget.name == "daily_budget" else "month"
        advice = f"Ask for {_CHEAPER[work]}, or try again in {_time(wait_s)}, when a new {period} begins."
    refused = Refused("budget_used_up", f"{left[0].upper()}{left[1:]} {advice}", wait_s, budget.name)
    return refused.due_to(budget, nano)


def _money(nano: int, currency: str) -> str:
    """Exact, with two decimals at least: what is left and what is asked for may differ in the last digit."""
    units, rest = divmod(nano, 10**9)
    return f"{units:,}.{f'{rest:09}'.rstrip('0').ljust(2, '0')} {currency}"


def day_used_up(day: Limit, used: int, wait_s: int) -> Refused:
    retry, subject = f"Try again in {_time(wait_s)}, at midnight UTC.", day.subject
    if subject == "user":
        message = f"You have used {used:,} of your {day.limit:,} tokens for today. {retry}"
        return Refused("day_used_up", message, wait_s).due_to(day)
    message = f"{used:,} tokens are used today; {_OWNERS[subject]} is {day.limit:,} tokens a day. {retry}"
    return Refused("day_used_up", message, wait_s, subject).due_to(day)


def _time(wait_s: int) -> str:
    days, rest = divmod(-(-wait_s // 60), 1440)
    hours, minutes = divmod(rest, 60)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def forms_too_complex(num: int, wait_s: int) -> Refused:
    why = f"{num} of your answers have failed of late, as the form asked of them was too complex."
    return Refused("rate_limited", f"{why} Make the form simpler, and try again in {wait_s} s.", wait_s)


_ACTIONS = {
    "may_share": "share traces by links",
    "may_probe": "look into the model",
    "may_rerun": "run saved requests again",
}


def switched_off(flag: str) -> Refused:
    return Refused("switched_off", f"An operator has not allowed you to {_ACTIONS[flag]}. Ask for it to be allowed.")
