"""Waits for a state of the page that no `expect` of Playwright states in itself."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

_LOOKS, _PAUSE_MS = 300, 100


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Looks again and again, for half a minute. Raises AssertionError."""
    for _ in range(_LOOKS):
        if holds():
            return
        page.wait_for_timeout(_PAUSE_MS)
    assert holds()
