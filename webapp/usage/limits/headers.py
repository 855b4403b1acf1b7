"""The headers in which both API families tell the state of the rates. Pure: limits in, header names and values out.

Each header tells the limit after this request took its share. Where several subjects have a rate of one kind, the
family has room for one: the rate with the least left.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from inference.protocol.events import Limit

_ANTHROPIC = {"requests": "requests", "input_tokens": "input-tokens", "output_tokens": "output-tokens"}
_THOUSAND = 1000


def anthropic_headers(limits: Iterable[Limit]) -> dict[str, str]:
    """`anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-{limit,remaining,reset}`."""
    found = _tightest(limits)
    headers: dict[str, str] = {}
    for kind, name in _ANTHROPIC.items():
        if kind in found:
            headers |= _anthropic(name, _State.of([found[kind]]))
    if tokens := [found[kind] for kind in ("input_tokens", "output_tokens") if kind in found]:
        headers |= _anthropic("tokens", _State.of(tokens))
    return headers


def openai_headers(limits: Iterable[Limit]) -> dict[str, str]:
    """`x-ratelimit-{limit,remaining,reset}-{requests,tokens}`. A reset is the time until the limit is full again."""
    found = _tightest(limits)
    headers: dict[str, str] = {}
    if "requests" in found:
        headers |= _openai("requests", _State.of([found["requests"]]))
    if tokens := [found[kind] for kind in ("input_tokens", "output_tokens") if kind in found]:
        headers |= _openai("tokens", _State.of(tokens))
    return headers


class _State:
    """One rate, or the sum of two, after the request took its share."""

    def __init__(self, limit: int, remaining: int, full_at_us: int, wait_us: int) -> None:
        self.limit, self.remaining = limit, remaining
        self.full_at_us, self.wait_us = full_at_us, wait_us

    @classmethod
    def of(cls, limits: list[Limit]) -> _State:
        left = [_left(limit) for limit in limits]
        waits = [_us_to_full(limit) for limit in limits]
        now_us = max((limit.reset_unix_us or 0) - _us_before(limit) for limit in limits)
        return cls(sum(limit.limit for limit in limits), sum(left), now_us + max(waits), max(waits))


def _tightest(limits: Iterable[Limit]) -> dict[str, Limit]:
    """Per kind of rate the limit with the least left."""
    found: dict[str, Limit] = {}
    for limit in limits:
        if limit.name in _ANTHROPIC and (limit.name not in found or _left(limit) < _left(found[limit.name])):
            found[limit.name] = limit
    return found


def _left(limit: Limit) -> int:
    return max(0, limit.remaining - (limit.num_taken or 0))


def _us_before(limit: Limit) -> int:
    """Time in which the limit would have been full without this request."""
    return _us(limit.limit - limit.remaining, limit)


def _us_to_full(limit: Limit) -> int:
    return _us(limit.limit - _left(limit), limit)


def _us(missing: int, limit: Limit) -> int:
    return int(missing / limit.refill_per_s * 1e6) if limit.refill_per_s else 0


def _anthropic(name: str, state: _State) -> dict[str, str]:
    """Remaining tokens are told to the nearest thousand, as the original does."""
    remaining = state.remaining
    if name != "requests" and state.limit > _THOUSAND:
        remaining = (remaining + _THOUSAND // 2) // _THOUSAND * _THOUSAND
    reset = datetime.fromtimestamp(-(-state.full_at_us // 10**6), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    prefix = f"anthropic-ratelimit-{name}"
    return {f"{prefix}-limit": str(state.limit), f"{prefix}-remaining": str(remaining), f"{prefix}-reset": reset}


def _openai(name: str, state: _State) -> dict[str, str]:
    return {
        f"x-ratelimit-limit-{name}": str(state.limit),
        f"x-ratelimit-remaining-{name}": str(state.remaining),
        f"x-ratelimit-reset-{name}": duration_text(state.wait_us),
    }


def duration_text(us: int) -> str:
    """`6m0s`, `1s`, `120ms`: as OpenAI writes a duration."""
    ms = -(-us // 1000)
    if ms < 1000:
        return f"{ms}ms"
    seconds = -(-ms // 1000)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    long = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{long}{seconds % 60}s"
