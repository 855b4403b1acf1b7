"""A note that the user saves reaches another chat that is about it, until it is deleted."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.panels import look_inside, open_tab
from tests.browser.test_chat import wait_until_written, write

pytestmark = pytest.mark.usefixtures("chat")


def ask(page: Page, text: str) -> None:
    """In a chat of its own."""
    page.get_by_role("link", name="New chat").click()
    write(page, text)
    wait_until_written(page)


def test_a_note_is_saved_used_and_forgotten(page: Page) -> None:
    write(page, "remember that I like tea")
    card = page.get_by_test_id("memory-card")
    expect(card.get_by_role("textbox")).to_have_value("I like tea")
    wait_until_written(page)
    page.get_by_role("link", name="Memory", exact=True).click()
    expect(page.get_by_text("There is none yet.", exact=False)).to_be_visible()
    page.go_back()
    expect(page.get_by_test_id("user-message")).to_be_visible()
    page.get_by_role("article", name="You").hover()
    page.get_by_role("button", name="Remember your message").click()
    card.get_by_role("textbox").fill("I like tea")
    card.get_by_role("button", name="Save").click()
    expect(card).to_contain_text("Remembered: “I like tea”")
    card.get_by_role("link", name="All memories").click()
    note = page.get_by_test_id("memory-list").get_by_role("listitem")
    expect(note).to_contain_text("I like tea")
    expect(note).to_contain_text("not used yet")
    expect(note.get_by_role("link", name="from a chat")).to_be_visible()
    ask(page, "What should I drink this afternoon?")
    look_inside(page)
    open_tab(page, "Memory")
    expect(page.get_by_test_id("memory-search")).to_contain_text("1 memory compared with the message")
    expect(page.get_by_test_id("memories").get_by_role("listitem")).to_contain_text("I like tea")
    open_tab(page, "Context")
    expect(page.get_by_role("listitem").filter(has_text="memory · system")).to_contain_text("- I like tea")
    expect(page.get_by_text("memory:mem_", exact=False)).to_be_visible()
    page.get_by_role("link", name="Memory", exact=True).click()
    expect(note).to_contain_text("last used")
    note.get_by_role("button", name="Delete I like tea").click()
    expect(page.get_by_text("The memory is deleted.")).to_be_visible()
    ask(page, "What should I drink this evening?")
    look_inside(page)
    open_tab(page, "Context")
    panel = page.get_by_role("complementary", name="Inspector")
    question = panel.get_by_role("listitem").filter(has_text="user · user")
    expect(question).to_contain_text("What should I drink this evening?")
    expect(panel.get_by_text("I like tea")).to_have_count(0)
    expect(panel.get_by_role("tab", name="Memory", exact=True)).to_have_count(0)
