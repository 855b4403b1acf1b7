"""Operations on limits and flags of a user, of a group and of the whole site, for operators."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.http import HttpRequest

from webapp.api.operators import checked_operator
from webapp.ground.audit.log import record
from webapp.ground.gateway.errors import ApiError, all_of, not_found
from webapp.ground.gateway.structs import Body, Result
from webapp.usage.limits import rules
from webapp.usage.limits.effective import Effective
from webapp.usage.limits.models import AMOUNTS, FLAGS, Rule
from webapp.usage.limits.rules import Subject

CHANGE = "limits.change_rule"
MAX_TOKENS_PER_MINUTE = 50_000_000
"""Its refill a second stays below what a trace file may hold."""
MAX_BUDGET_NANO = 10**15
"""A million of a currency's unit: figures stay whole in JavaScript."""
_RANGES = {
    "max_open": 32,
    "requests_per_minute": 10_000,
    "input_tokens_per_minute": MAX_TOKENS_PER_MINUTE,
    "output_tokens_per_minute": MAX_TOKENS_PER_MINUTE,
    "tokens_per_day": 1_000_000_000_000,
    "daily_budget_nano": MAX_BUDGET_NANO,
    "monthly_budget_nano": MAX_BUDGET_NANO,
}
_WORDS = {
    "max_open": "Requests at once",
    "requests_per_minute": "Requests a minute",
    "input_tokens_per_minute": "Input tokens a minute",
    "output_tokens_per_minute": "Output tokens a minute",
    "tokens_per_day": "Tokens a day",
    "daily_budget_nano": "The budget of a day, in billionths,",
    "monthly_budget_nano": "The budget of a month, in billionths,",
}


class AmountsBody(Body):
    """All amounts of a rule; null: it names none."""

    max_open: int | None
    requests_per_minute: int | None
    input_tokens_per_minute: int | None
    output_tokens_per_minute: int | None
    tokens_per_day: int | None
    daily_budget_nano: int | None
    """In billionths of a unit of each currency, on one day of UTC."""
    monthly_budget_nano: int | None


class LimitsBody(AmountsBody):
    """All limits and flags of one subject; null: its groups decide, then the site, then the product."""

    may_share: bool | None
    may_probe: bool | None
    may_rerun: bool | None


class Amounts(Result):
    """The amounts that one rule names; null: it does not."""

    max_open: int | None
    requests_per_minute: int | None
    input_tokens_per_minute: int | None
    output_tokens_per_minute: int | None
    tokens_per_day: int | None
    daily_budget_nano: int | None
    monthly_budget_nano: int | None


class RuleValues(Amounts):
    """The limits and flags that one rule names; null: it does not."""

    may_share: bool | None
    may_probe: bool | None
    may_rerun: bool | None


class LimitsInForce(Result):
    """The limits and flags in force for a user; null: there is no limit."""

    max_open: int
    requests_per_minute: int | None
    input_tokens_per_minute: int | None
    """Tokens of prompts that the prefix cache does not hold."""
    output_tokens_per_minute: int | None
    tokens_per_day: int | None
    """Tokens of all kinds on one day of UTC. A request that begins below it may end above it."""
    daily_budget_nano: int | None
    """Billionths of a unit of each currency, on one day of UTC. No request begins that might go beyond it."""
    monthly_budget_nano: int | None
    """The same in one month of UTC."""
    may_share: bool
    may_probe: bool
    may_rerun: bool
    sources: dict[str, str]
    """Per name the rule that decided: user, group, site or product."""


def change_user_limits(request: HttpRequest, target_id: int, body: LimitsBody) -> RuleValues:
    """Set a user's own limits and flags. 403 `forbidden`, also for a superuser's limits without being one."""
    operator = checked_changer(request)
    found = find_user(target_id)
    check_rank(operator, found)
    return _changed(found, found, body)


def change_group_limits(request: HttpRequest, group_id: int, body: LimitsBody) -> RuleValues:
    """Set the limits and flags of a group's members. 403 `forbidden`, also where one is a superuser."""
    operator = checked_changer(request)
    found = Group.objects.filter(pk=group_id).first()
    if found is None:
        raise not_found("group")
    for member in found.user_set.filter(is_superuser=True)[:1]:
        check_rank(operator, member)
    return _changed(found, found, body)


def change_site_limits(request: HttpRequest, body: LimitsBody) -> RuleValues:
    """Set the limits and flags of all users for whom no other rule decides. 403 `forbidden`."""
    checked_changer(request)
    return _changed(None, None, body)


def find_user(target_id: int) -> User:
    """Raises ApiError."""
    found = User.objects.filter(pk=target_id).first()
    if found is None:
        raise not_found("user")
    return found


def check_rank(operator: User, target: User) -> None:
    """Raises ApiError where the operator may not act on this user."""
    if target.is_superuser and not operator.is_superuser:
        raise ApiError(403, "forbidden", f"{target} is a superuser. Only a superuser may change what {target} may do.")


def values_of(rule: Rule) -> RuleValues:
    return RuleValues(**{name: getattr(rule, name) for name in (*AMOUNTS, *FLAGS)})


def in_force(found: Effective) -> LimitsInForce:
    named = {name: getattr(found, name) for name in (*AMOUNTS, *FLAGS)}
    return LimitsInForce(**named, sources={name: str(source) for name, source in found.sources.items()})


def checked_changer(request: HttpRequest) -> User:
    """The operator, who may change rules. Raises ApiError."""
    return checked_operator(request, CHANGE, "Only operators with the permission to change rules set limits.")


def _changed(subject: Subject, entry_of: User | Group | None, body: LimitsBody) -> RuleValues:
    """entry_of: the row that the audit log names; None: the site's own rule."""
    check_amounts(body, AMOUNTS)
    after = {name: getattr(body, name) for name in (*AMOUNTS, *FLAGS)}
    with transaction.atomic():
        rule, before = rules.change(subject, **after)
        changed = [name for name in after if after[name] != before[name]]
        if changed:
            was, now = ({name: values[name] for name in changed} for values in (before, after))
            record(entry_of or rule, "set the limits of", was, now)
    return values_of(rule)


def range_words(name: str) -> str:
    """An amount's name at the beginning of a sentence."""
    return _WORDS[name]


def check_amounts(body: Body, names: Iterable[str]) -> None:
    """Raises ApiError where an amount is out of its range."""
    wrong = []
    for name in names:
        value, most = getattr(body, name), _RANGES[name]
        if value is not None and not 1 <= value <= most:
            advice = " To let a user send nothing, stop the user." if value < 1 else ""
            wrong.append(ApiError(400, "invalid", f"{_WORDS[name]} must be 1 to {most:,}.{advice}", name))
    if wrong:
        raise all_of(wrong)
