"""An answer delegates to two agents, and its page shows one tree: the calls, the lanes of each agent, and one bill."""

from __future__ import annotations

import json

from playwright.sync_api import Page, expect

from inference.protocol.tool_calls import written
from tests.browser.panels import look_inside, open_tab
from tests.conformance.scripted.decoder import WRITE
from tests.faults.conftest import Processes

ANSWERS = ("Five apples.", "Six pears.")


def delegated(answer: str) -> str:
    return written("delegate", json.dumps({"task": WRITE + answer}))


def test_one_tree_one_bill_and_one_timeline(page: Page, site: Processes, scripted: str) -> None:
    chat = {"model": scripted, "tools": ["delegate"]}
    conversation = site.client.post("/api/conversations", json=chat).raise_for_status().json()["id"]
    site.say(conversation, WRITE + "".join(map(delegated, ANSWERS)), max_tokens=400)
    page.goto(f"/c/{conversation}")
    results = page.get_by_test_id("tool-results").get_by_role("listitem")
    for result, answer in zip((results.nth(0), results.nth(1)), ANSWERS, strict=True):
        expect(result).to_contain_text(answer, timeout=60_000)
    look_inside(page)
    timeline = page.get_by_role("button", name="Timeline", exact=True)
    if timeline.get_attribute("aria-expanded") != "true":
        timeline.click()
    expect(timeline).to_have_attribute("aria-expanded", "true")
    lanes = page.get_by_test_id("agent-lanes")
    folded = page.get_by_title("Unfold the agent’s lanes")
    expect(folded).to_have_count(2)
    folded.first.click()
    expect(lanes).to_contain_text("Prefill")
    open_tab(page, "Bill")
    rows = page.get_by_test_id("bill-parts").get_by_role("row")
    expect(rows).to_have_count(5, timeout=60_000)
    expect(rows.last).to_contain_text("Together")
    rows.nth(2).get_by_role("link").click()
    expect(page.get_by_text("An agent of the request that started it.")).to_be_visible()
