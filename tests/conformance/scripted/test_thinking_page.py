"""Thinking on the chat page, in a real browser: folded above the answer, counted, and ended by its button."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.conformance.scripted.test_thinking import ANSWER, SLOW
from tests.faults.conftest import Processes


def test_thinking_is_folded_and_ends_when_the_user_asks_for_the_answer(
    page: Page, site: Processes, thinker: str
) -> None:
    conversation = site.client.post("/api/conversations", json={"model": thinker}).raise_for_status().json()["id"]
    site.say(conversation, SLOW, max_tokens=8000)
    page.goto(f"/c/{conversation}")
    thinking = page.get_by_test_id("thinking")
    expect(thinking.get_by_text("Thinking:")).to_be_visible(timeout=60_000)
    thinking.get_by_role("button", name="Answer now").click()
    told = thinking.get_by_text("until you asked for the answer")
    expect(told).to_be_visible(timeout=60_000)
    expect(page.get_by_test_id("assistant-message")).to_contain_text(ANSWER, timeout=60_000)
    expect(thinking.get_by_role("button")).to_have_count(0)
    page.reload()
    told.click(timeout=60_000)
    expect(thinking.get_by_role("paragraph")).to_contain_text("step 0 step 1")
