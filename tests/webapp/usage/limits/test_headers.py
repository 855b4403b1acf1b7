"""The headers of both families tell the same limits in each family's own words."""

from __future__ import annotations

from typing import Any

import pytest

from inference.protocol.events import Limit
from webapp.usage.limits.headers import anthropic_headers, duration_text, openai_headers

NOW_US = 1_750_000_000_000_000


def rate(name: Any, limit: int, remaining: int, taken: int, subject: Any = "user") -> Limit:
    missing_us = (limit - remaining) * 60_000_000 // limit
    return Limit(
        name=name,
        subject=subject,
        limit=limit,
        remaining=remaining,
        num_taken=taken,
        refill_per_s=limit / 60,
        reset_unix_us=NOW_US + missing_us,
    )


RATES = [
    rate("requests", 60, 59, 1),
    rate("input_tokens", 80_000, 60_000, 400),
    rate("output_tokens", 16_000, 16_000, 8000),
]


def test_anthropics_headers_tell_moments_and_rounded_tokens() -> None:
    assert anthropic_headers(RATES) == {
        "anthropic-ratelimit-requests-limit": "60",
        "anthropic-ratelimit-requests-remaining": "58",
        "anthropic-ratelimit-requests-reset": "2025-06-15T15:06:42Z",
        "anthropic-ratelimit-input-tokens-limit": "80000",
        "anthropic-ratelimit-input-tokens-remaining": "60000",
        "anthropic-ratelimit-input-tokens-reset": "2025-06-15T15:06:56Z",
        "anthropic-ratelimit-output-tokens-limit": "16000",
        "anthropic-ratelimit-output-tokens-remaining": "8000",
        "anthropic-ratelimit-output-tokens-reset": "2025-06-15T15:07:10Z",
        "anthropic-ratelimit-tokens-limit": "96000",
        "anthropic-ratelimit-tokens-remaining": "68000",
        "anthropic-ratelimit-tokens-reset": "2025-06-15T15:07:10Z",
    }


def test_openais_headers_tell_durations() -> None:
    assert openai_headers(RATES) == {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "58",
        "x-ratelimit-reset-requests": "2s",
        "x-ratelimit-limit-tokens": "96000",
        "x-ratelimit-remaining-tokens": "67600",
        "x-ratelimit-reset-tokens": "30s",
    }


def test_the_rate_with_the_least_left_is_told() -> None:
    shared = rate("requests", 1000, 5, 1, "model")
    assert openai_headers([*RATES, shared])["x-ratelimit-limit-requests"] == "1000"


def test_limits_that_are_no_rates_make_no_headers() -> None:
    others = [Limit(name="concurrency", limit=8, remaining=8), Limit(name="daily_budget", limit=9, remaining=9)]
    assert anthropic_headers(others) == openai_headers(others) == {}


@pytest.mark.parametrize(
    ("us", "text"),
    [(0, "0ms"), (1, "1ms"), (120_000, "120ms"), (999_001, "1s"), (1_000_001, "2s"), (360 * 10**6, "6m0s")],
)
def test_durations_read_as_openais(us: int, text: str) -> None:
    assert duration_text(us) == text
