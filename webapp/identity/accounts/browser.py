"""Browser and system in words, from the User-Agent header."""

from __future__ import annotations

from dataclasses import dataclass

import ua_parser

_LONGEST = 512
"""Characters that are looked at: the header may have thousands, and browsers name themselves earlier."""
_LONGEST_NAME = 40


@dataclass(frozen=True)
class Browser:
    """Names without versions, which change while a sign-in lasts. Empty: not known."""

    name: str
    system: str


def browser_of(user_agent: str) -> Browser:
    """Return the names that this header tells of."""
    agent = user_agent[:_LONGEST]
    browser, system = ua_parser.parse_user_agent(agent), ua_parser.parse_os(agent)
    return Browser(browser.family[:_LONGEST_NAME] if browser else "", system.family[:_LONGEST_NAME] if system else "")
