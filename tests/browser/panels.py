"""The inspector's panels by their groups, as a reader finds them."""

from __future__ import annotations

from collections.abc import Iterator

from playwright.sync_api import Page, expect

GROUPS = {
    "Story": ("Journey", "Overview"),
    "Prompt": ("Embedding", "Context", "Memory", "Files", "Tokens", "Safety", "Gateway"),
    "Model": ("Sampling", "Layers", "Cache", "Batch", "Guessing", "Grammar", "Tools"),
    "Record": ("Timing", "Network", "Bill", "Events"),
}


def look_inside(page: Page) -> None:
    """Opens the glass beside the newest answer, where it is not open already."""
    toggle = page.get_by_test_id("inspector-toggle").last
    expect(toggle).to_be_visible(timeout=30_000)
    if toggle.get_attribute("aria-expanded") != "true":
        toggle.click()
    expect(page.get_by_role("complementary", name="Inspector")).to_be_visible()


def open_tab(page: Page, name: str) -> None:
    """By the panel's group and its tab, which is there where the request has something to show in it."""
    group = next(group for group, names in GROUPS.items() if name in names)
    page.locator(f'[data-group="{group}"]').click()
    page.get_by_role("tab", name=name, exact=True).click()
    expect(page.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")


def each_tab(page: Page) -> Iterator[str]:
    """Every panel that is offered, each opened."""
    for group in GROUPS:
        page.locator(f'[data-group="{group}"]').click()
        for name in page.get_by_role("tab").all_inner_texts():
            page.get_by_role("tab", name=name, exact=True).click()
            yield name
