"""Replaces names in texts and JSON values. Pure. Knows nothing of the rows that have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User


def names_of(user: User) -> list[str]:
    """The account's names."""
    return [name for name in (user.username, user.first_name, user.last_name, user.get_full_name()) if name]


def pattern_of(names: Sequence[str]) -> re.Pattern[str]:
    """Finds any of the names as a whole word, the longest first; an e-mail address in capitals too."""
    longest_first = sorted(set(names), key=len, reverse=True)
    parts = [f"(?i:{re.escape(name)})" if "@" in name else re.escape(name) for name in longest_first]
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?!\w)")


def without(value: Any, pattern: re.Pattern[str], new_name: str) -> Any:
    """The JSON value with the new name in place of the others."""
    match value:
        case str():
            return pattern.sub(new_name, value)
        case dict():
            return {name: without(each, pattern, new_name) for name, each in value.items()}
        case list():
            return [without(each, pattern, new_name) for each in value]
    return value
