"""axe-core in a page that is open. Knows nothing of the product."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

from tests.browser.running import ROOT

_SOURCE = ROOT / "frontend/node_modules/axe-core/axe.min.js"
_RUN = "(what) => axe.run(document, {runOnly: what, resultTypes: ['violations']})"
_UNTIL_RECOLOURED = """() => Promise.allSettled(
  document.getAnimations().filter((each) => each instanceof CSSTransition).map((each) => each.finished))"""
_ALL = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules that a screen can break in the dark alone: nothing else of it changes there."""
SERIOUS = ("serious", "critical")


def findings(page: Page) -> list[str]:
    """What axe-core calls serious or critical in the page as it stands, a line each.

    `frontend/src/theme/contrast.test.ts` holds the colours of text on every surface, in both themes.
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_SOURCE.read_text("utf-8"))
    return _violations(page, {"type": "tag", "values": _ALL})


def findings_in_both_themes(page: Page) -> list[str]:
    light = findings(page)
    page.emulate_media(color_scheme="dark")
    page.evaluate(_UNTIL_RECOLOURED)
    dark = _violations(page, {"type": "rule", "values": _OF_COLOURS})
    page.emulate_media(color_scheme="light")
    return [*light, *(f"in the dark: {line}" for line in dark)]


def _violations(page: Page, what: dict[str, Any]) -> list[str]:
    found: list[dict[str, Any]] = page.evaluate(_RUN, what)["violations"]
    return [
        f"{rule['id']}: {node['target']} {node['any'][0]['message'] if node['any'] else rule['help']}"
        for rule in found
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]
