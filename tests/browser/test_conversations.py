"""Around a conversation: brought from elsewhere, found by its date, renamed and pinned by keys, taken away."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import findings
from tests.browser.running import Running, post
from tests.browser.visiting import visit
from tests.webapp.surfaces.chat.exported import as_bytes, chatgpt, open_webui, zipped

pytestmark = pytest.mark.usefixtures("chat")
EXPORT = zipped({"conversations.json": as_bytes(chatgpt(), open_webui(), {"mapping": []})})


def rows(page: Page) -> Locator:
    return page.locator("[data-conversation]")


def bring(page: Page) -> None:
    page.get_by_role("button", name="Import chats").click()
    file = {"name": "export.zip", "mimeType": "application/zip", "buffer": EXPORT}
    page.locator("dialog input[type=file]").set_input_files([file])  # type: ignore[list-item]


def test_an_export_is_brought_once_and_read(page: Page) -> None:
    bring(page)
    report = page.get_by_test_id("import-report")
    expect(report).to_have_text("2 conversations, 6 messages from ChatGPT and Open WebUI; 1 skipped.")
    expect(page.get_by_role("dialog")).to_contain_text("conversation 3: mapping must be an object, not a list.")
    assert findings(page) == []
    page.keyboard.press("Escape")
    bring(page)
    expect(report).to_have_text("Nothing new; 2 already here; 1 skipped.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", level=2)).to_have_text(["Pinned", "November 2023"])
    expect(rows(page)).to_have_text(["Sums", "Lighthouses"])
    rows(page).last.click()
    answer = page.get_by_role("article", name="Answer")
    expect(answer).to_contain_text("A lighthouse, too.")
    expect(answer).to_contain_text("answered by gpt-4o")
    expect(page.get_by_test_id("inspector-toggle")).to_have_count(0)
    expect(page.get_by_text("2/2")).to_be_visible()
    assert findings(page) == []


def test_a_conversation_is_renamed_pinned_and_opened_by_keys(page: Page) -> None:
    rows(page).first.focus()
    page.keyboard.press("ArrowDown")
    expect(rows(page).last).to_be_focused()
    page.keyboard.press("F2")
    page.keyboard.type("Towers by the sea, and the people who lived in them")
    page.keyboard.press("Enter")
    last = rows(page).last
    expect(last).to_have_text("Towers by the sea, and the people who lived in them")
    expect(last).to_be_focused()
    box = last.bounding_box()
    assert box is not None
    assert box["height"] > 40  # two lines
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="Pin to the top")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Main", exact=True).get_by_role("heading", level=2)).to_have_text(["Pinned"])
    expect(rows(page)).to_have_count(2)
    page.reload()
    expect(page.get_by_label("Main", exact=True).get_by_role("heading", level=2)).to_have_text(["Pinned"])
    # Each is one stop of the Tab key.
    rows(page).first.focus()
    page.keyboard.press("Tab")
    expect(rows(page).last).to_be_focused()


@pytest.mark.parametrize(("entry", "begins"), [("Export as Markdown", "# Towers by"), ("Export as JSON", "{")])
def test_it_is_taken_away_as_a_file(page: Page, entry: str, begins: str) -> None:
    page.get_by_role("button", name="This conversation").click()
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile(entry)).click()
    text = Path(download.value.path()).read_text("utf-8")
    assert text.startswith(begins)
    if begins == "{":
        assert len(json.loads(text)["messages"]) == 4


def test_its_turns_lead_to_their_requests(page: Page, product: Running) -> None:
    base = product.link.partition("/signin/")[0]
    conversation = post(page, base, "/api/conversations", {})["id"]
    parent = None
    for text in ("Name one colour.", "Another one."):
        body = {"text": text, "parent_id": parent, "params": {"max_tokens": 4}}
        sent = post(page, base, f"/api/conversations/{conversation}/messages", body)["assistant_message"]
        parent = sent["id"]
        visit(page, f"{base}/requests/{sent['request_id']}")
        expect(page.get_by_role("button", name="Run again")).to_be_visible(timeout=30_000)
    visit(page, f"{base}/c/{conversation}")
    page.get_by_role("button", name="This conversation").click()
    page.get_by_role("link", name=re.compile("Turn by turn")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Name one colour.")
    table = page.get_by_role("region", name="Turns in figures")
    expect(table.get_by_role("row")).to_have_count(3)
    expect(page.get_by_text(re.compile(r"\d+ of \d+ prompt tokens .* came from the cache\."))).to_be_visible()
    expect(page.locator("figure")).to_have_count(3)
    assert findings(page) == []
    table.get_by_role("link", name="Another one.").click()
    expect(page).to_have_url(re.compile(sent["request_id"]))
