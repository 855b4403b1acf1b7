"""axe-core in a page that is open. Knows nothing of the product."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

from tests.browser.running import ROOT

_SOURCE = ROOT / "frontend/node_modules/axe-core/axe.min.js"
_RUN = """() => axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"]})"""
SERIOUS = ("serious", "critical")


def findings(page: Page) -> list[str]:
    """What axe-core calls serious or critical in the page as it stands, a line each."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_SOURCE.read_text("utf-8"))
    found: list[dict[str, Any]] = page.evaluate(_RUN)["violations"]
    return [
        f"{rule['id']}: {node['target']} {node['any'][0]['message'] if node['any'] else rule['help']}"
        for rule in found
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]
