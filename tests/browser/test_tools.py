"""An answer calls a tool of the server, and the page shows the call, its result and both generations."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.panels import look_inside, open_tab
from tests.browser.test_chat import wait_until_written, write

pytestmark = pytest.mark.usefixtures("chat")


def test_an_answer_calls_the_calculator_and_goes_on(page: Page) -> None:
    page.get_by_test_id("tool-picker").click()
    page.get_by_role("switch", name="Calculator").click()
    page.get_by_role("switch", name="Always call one").click()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("tool-picker")).to_have_text("Tools 1")
    write(page, "What is 17 * 23?")
    results = page.get_by_test_id("tool-results").get_by_role("listitem")
    expect(results.first).to_contain_text("calculator", timeout=60_000)
    wait_until_written(page)
    expect(page.get_by_test_id("assistant-message")).to_contain_text('{"name": "calculator"')
    look_inside(page)
    open_tab(page, "Tools")
    expect(page.get_by_test_id("tools").get_by_role("listitem").first).to_contain_text("built in")
    expect(page.get_by_text("Generation 2 of", exact=False).first).to_be_attached()
    told = results.first.inner_text()
    page.reload()
    expect(results.first).to_have_text(told)


def test_a_call_that_changes_something_waits_for_its_user(page: Page) -> None:
    page.get_by_role("link", name="New chat").first.click()
    page.get_by_test_id("tool-picker").click()
    page.get_by_role("switch", name="Rename this conversation").click()
    page.get_by_role("switch", name="Always call one").click()
    page.keyboard.press("Escape")
    write(page, "Call this conversation: Sums.")
    question = page.get_by_test_id("approval").first
    expect(question).to_contain_text("rename_conversation", timeout=60_000)
    page.reload()
    expect(question).to_contain_text('"title"')
    question.get_by_role("button", name="Decline").click()
    results = page.get_by_test_id("tool-results").get_by_role("listitem")
    expect(results.first).to_contain_text("declined", timeout=60_000)
    page.get_by_role("button", name="Stop").or_(page.get_by_role("button", name="Regenerate").last).first.click()
