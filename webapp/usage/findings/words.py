"""Figures, days and names as the sentences say them. A unit stays on the line of its number. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from math import floor, log10
from zoneinfo import ZoneInfo

_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}
_NUM_NAMES = 3


def money(nano: float, currency: str) -> str:
    """Billionths of a currency's unit: "$3.10", or two digits of a small amount."""
    units = nano / 1e9
    num_decimals = 2 if units == 0 or abs(units) >= 1 else max(2, 1 - floor(log10(abs(units))))
    digits = f"{units:,.{num_decimals}f}"
    sign = _SIGNS.get(currency)
    return f"{sign}{digits}" if sign else f"{digits} {currency}"


def seconds(us: float) -> str:
    """A time: "7.4 s", "310 ms"."""
    if us >= 995_000:
        return f"{us / 1e6:.1f}\u00a0s"
    return f"{us / 1000:.0f}\u00a0ms" if us >= 9_950 else f"{us / 1000:.1f}\u00a0ms"


def percent(share: float) -> str:
    return f"{share * 100:.0f}\u00a0%"


def only(share: float) -> str:
    """A low share, to begin a sentence: "Only 6 %", "Almost none", "None"."""
    if share >= 0.005:
        return f"Only {percent(share)}"
    return "Almost none" if share else "None"


def most(share: float) -> str:
    """A high share, to begin a sentence: "92 % of them", "Almost all of them", "All of them"."""
    if share < 0.995:
        return f"{percent(share)} of them"
    return "Almost all of them" if share < 1 else "All of them"


def times(ratio: float) -> str:
    """A ratio: "3.1 times"."""
    return f"{ratio:,.0f} times" if ratio >= 9.95 else f"{ratio:.1f} times"


def counted(number: float, noun: str) -> str:
    """A count with its noun: "1 request", "412 requests"."""
    text = f"{number:,.0f}"
    return f"{text} {noun}" if text == "1" else f"{text} {noun}s"


def day_name(day: date) -> str:
    """Such as "Tuesday, Nov 10"."""
    return f"{day:%A}, {day:%b} {day.day}"


def days_name(first: date, last: date) -> str:
    """The days as part of a sentence: "on Tuesday, Nov 10", "from Nov 10 to Nov 12"."""
    if first == last:
        return f"on {day_name(first)}"
    return f"from {first:%b} {first.day} to {last:%b} {last.day}"


def hours_name(start: datetime, end: datetime, zone: ZoneInfo) -> str:
    """Such as "on Tuesday, Nov 10, from 15:00 to 16:00"."""
    first, last = start.astimezone(zone), end.astimezone(zone)
    return f"on {day_name(first)}, from {first:%H:%M} to {last:%H:%M}"


def cause(code: str) -> str:
    """A cause: "worker lost"."""
    return code.replace("_", " ") or "no cause recorded"


def names(found: Sequence[str]) -> str:
    """A list of names: "anna, bob and 3 others"."""
    shown, rest = list(found[:_NUM_NAMES]), len(found) - _NUM_NAMES
    if rest > 0:
        shown.append(f"{rest} other{'s' if rest > 1 else ''}")
    return " and ".join([*([", ".join(shown[:-1])] if len(shown) > 1 else []), shown[-1]])
