"""Takes requests' shares from the rates of all that they concern, before their rows are saved.

It needs no lock and no transaction: a Redis that hangs blocks no other writer. A caller whose transaction then fails
gives the shares back; after a crash the buckets fill again within a minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from redis.exceptions import RedisError

from inference.protocol.events import Limit
from inference.protocol.request import Usage
from webapp.requests.models import Request
from webapp.usage.limits.charge import Charge, usage_of, used_of
from webapp.usage.limits.rates import Bucket, Level, rates
from webapp.usage.limits.refusal import too_fast
from webapp.usage.limits.rules import effective_of
from webapp.usage.limits.scopes import Subject, scopes_of
from webapp.usage.limits.shared import shared_rules


@dataclass(frozen=True)
class _Rate:
    """A bucket and whose it is."""

    bucket: Bucket
    subject: Subject


def take_rates(requests: Sequence[Request], charges: Sequence[Charge]) -> list[list[Limit]]:
    """Take all requests' shares, or none; return the state of each rate before each request.

    All are of one user, one key, one model and one kind of work. Raises Refused, RedisError.
    """
    found = _rates_of(requests[0].user_id, requests[0].model, requests[0].key_id)
    amounts = [[charge.amount(rate.bucket, len(charges)) for rate in found] for charge in charges]
    taking = rates().take(
        [rate.bucket for rate in found], {request.pk: row for request, row in zip(requests, amounts, strict=True)}
    )
    totals = [sum(column) for column in zip(*amounts, strict=True)]
    if not taking.is_taken:
        limits = list(map(_limit, found, taking.levels, [0] * len(found)))
        raise too_fast(taking.levels, totals, limits, charges[0].work)
    return _before_each(found, taking.levels, amounts)


def levels_of(user_id: int, model: str, key_id: int | None) -> list[Limit]:
    """Read the state of each rate for a user's requests to a model. Raises RedisError."""
    found = _rates_of(user_id, model, key_id)
    return list(map(_limit, found, rates().levels([rate.bucket for rate in found]), [0] * len(found)))


def give_back(request_ids: Iterable[str]) -> None:
    """Undo what requests took that never began. Without Redis the buckets fill by themselves."""
    with suppress(RedisError):
        for request_id in request_ids:
            rates().give_back(request_id)


def correct(request_id: str) -> None:
    """Replace what a request took by what it used, once it is settled; one that is deleted used nothing.

    Raises RedisError.
    """
    request = Request.objects.filter(pk=request_id).only("usage").first()
    correct_to(request_id, Usage() if request is None else usage_of(request))


def correct_to(request_id: str, usage: Usage) -> None:
    """Replace what a request took by this use, once. Raises RedisError."""
    rates().correct(request_id, lambda kind: used_of(usage, kind))


def _rates_of(user_id: int, model: str, key_id: int | None) -> list[_Rate]:
    scopes = scopes_of(user_id, effective_of(user_id), list(shared_rules(user_id, model, key_id)))
    return [_Rate(bucket, scope.kind) for scope in scopes for bucket in scope.buckets()]


def _before_each(
    found: Sequence[_Rate], levels: Sequence[Level], amounts: Sequence[Sequence[int]]
) -> list[list[Limit]]:
    each, now = [], list(levels)
    for row in amounts:
        each.append(list(map(_limit, found, now, row)))
        now = [level.after(amount) for level, amount in zip(now, row, strict=True)]
    return each


def _limit(rate: _Rate, level: Level, taken: int) -> Limit:
    return Limit(
        name=rate.bucket.kind,
        subject=rate.subject,
        limit=rate.bucket.limit,
        remaining=level.remaining,
        reset_unix_us=level.full_at_unix_us,
        num_taken=taken,
        refill_per_s=rate.bucket.limit / 60,
    )
