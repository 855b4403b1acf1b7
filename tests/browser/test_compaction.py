"""A window that fills up, in the running product: the page warns, a summary takes the place of the oldest turn."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import findings
from tests.browser.panels import look_inside, open_tab
from tests.browser.running import Running, post
from tests.browser.visiting import visit

PARAMS = {"temperature": 0, "max_tokens": 24, "seed": 1}
LONG = "The harbour has a red light, a green light and an old wall of stone. " * 100
LATE_MS = 240_000


@pytest.fixture
def base(product: Running) -> Iterator[str]:
    yield product.link.partition("/signin")[0]


def ask(page: Page, text: str) -> None:
    answers = page.get_by_test_id("assistant-message")
    num = answers.count()
    page.get_by_test_id("composer").fill(text)
    page.keyboard.press("Enter")
    expect(answers).to_have_count(num + 1, timeout=LATE_MS)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0, timeout=LATE_MS)


def begin(page: Page, base: str) -> None:
    """A conversation of two turns, the first of which is long."""
    visit(page, f"{base}/")
    page.get_by_test_id("composer").wait_for()
    conversation = post(page, base, "/api/conversations", {"params": PARAMS})["id"]
    visit(page, f"{base}/c/{conversation}")
    ask(page, LONG)
    ask(page, "Name one colour.")


def test_a_full_window_is_told_summarised_and_undone(page: Page, base: str) -> None:
    begin(page, base)
    warning = page.get_by_test_id("full-window")
    page.get_by_test_id("composer").fill("word " * 6450)
    expect(warning).to_contain_text("will drop the oldest turn (", timeout=LATE_MS)
    warning.get_by_role("button", name="Compact…").click()
    dialog = page.get_by_test_id("compaction")
    page.get_by_label("Newest turns that stay as they are").fill("1")
    expect(dialog).to_contain_text("Summarised: 1 turn", timeout=LATE_MS)
    expect(dialog).to_contain_text(re.compile(r"At least [\d,]+ tokens"))
    assert findings(page) == []
    page.get_by_role("button", name="Make the summary").click()
    page.get_by_test_id("composer").fill("")
    mark = page.get_by_test_id("summary-mark")
    expect(mark).to_have_attribute("data-state", "done", timeout=LATE_MS)
    expect(mark).to_contain_text(re.compile(r"tokens became \d+ \(\$"))
    expect(mark.get_by_role("link", name="Look inside")).to_have_attribute("href", re.compile("^/requests/req_"))
    assert findings(page) == []
    ask(page, "And one more.")
    look_inside(page)
    open_tab(page, "Context")
    expect(page.get_by_test_id("summarised")).to_contain_text("A summary stands for 2 messages", timeout=LATE_MS)
    expect(page.get_by_test_id("input-price")).to_contain_text("All segments cost $", timeout=LATE_MS)
    expect(page.get_by_test_id("left-out").first).to_contain_text(LONG[-400:].strip())
    mark.get_by_role("button", name="Undo").click()
    expect(mark).to_have_count(0)
    page.get_by_test_id("composer").fill("word " * 6450)
    expect(warning).to_contain_text("will drop the oldest turn (", timeout=LATE_MS)
    page.get_by_test_id("composer").fill("")
