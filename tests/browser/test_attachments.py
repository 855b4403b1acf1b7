"""A PDF is attached in the chat, its passages are chosen for each question, and the page shows which and why."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.panels import look_inside, open_tab
from tests.browser.running import Running
from tests.browser.test_chat import wait_until_written, write
from tests.browser.visiting import begin_chat
from tests.webapp.content.attachments.files import pdf

TOLD = {
    "Whales": "The blue whale is the largest animal. Its song carries for hundreds of kilometres.",
    "Bread": "A baker kneads flour, water and yeast into a dough, and then heats the oven.",
    "Law": "A contract binds two parties. The court decides about damages after a breach.",
}


def book() -> bytes:
    """Some 6,000 tokens on 9 pages, of which a prompt has a third."""
    return pdf(*([f"{name}.", *[told] * 36] for name, told in TOLD.items() for _ in range(3)))


@pytest.fixture(autouse=True)
def fresh(page: Page, product: Running) -> None:
    begin_chat(page, product, max_tokens=24)


def attach(page: Page, name: str, data: bytes) -> None:
    kind = "application/octet-stream"
    page.get_by_test_id("file-input").set_input_files({"name": name, "mimeType": kind, "buffer": data})


def test_a_pdf_is_attached_and_asked_about(page: Page) -> None:
    attach(page, "book.pdf", book())
    chip = page.get_by_test_id("file-chips").get_by_role("listitem")
    expect(chip).to_contain_text("book.pdf")
    expect(chip).to_contain_text("tokens", timeout=120_000)
    write(page, "How does a baker make bread?")
    expect(page.get_by_test_id("message-files")).to_contain_text("book.pdf")
    expect(page.get_by_test_id("file-chips")).to_have_count(0)
    wait_until_written(page)
    look_inside(page)
    open_tab(page, "Files")
    files = page.get_by_test_id("files")
    expect(files).to_contain_text("book.pdf")
    expect(files).to_contain_text("Safety check: allowed")
    chosen = files.get_by_test_id("passages").first
    expect(chosen.get_by_role("listitem").first).to_contain_text("tokens")
    files.get_by_role("button", name="Show the texts").first.click()
    expect(chosen).to_contain_text("yeast")
    files.get_by_text("left out").click()
    files.get_by_role("checkbox", name="for the next message").last.check()
    expect(page.get_by_test_id("file-chips")).to_contain_text("1 pin")
    open_tab(page, "Context")
    expect(page.get_by_text("attachment · user")).to_be_attached()
    write(page, "And what does the court decide?")
    expect(page.get_by_test_id("file-chips")).to_have_count(0)
    wait_until_written(page)
    open_tab(page, "Files")
    expect(page.get_by_test_id("passages").first).to_contain_text("pinned")


def test_a_picture_is_refused_in_words_and_can_be_removed(page: Page) -> None:
    attach(page, "photo.png", b"\x89PNG\r\n\x1a\n\x00")
    chips = page.get_by_test_id("file-chips")
    expect(chips.get_by_role("alert")).to_contain_text("reads no pictures")
    page.get_by_role("button", name="Remove photo.png").click()
    expect(chips).to_have_count(0)


def test_a_long_pasted_text_may_become_a_file(page: Page) -> None:
    composer = page.get_by_test_id("composer")
    composer.fill("Sum this up: ")
    composer.evaluate(
        """(area, text) => {
          const data = new DataTransfer();
          data.setData("text/plain", text);
          area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
          area.setRangeText(text, area.value.length, area.value.length, "end");
          area.dispatchEvent(new Event("input", { bubbles: true }));
        }""",
        "A long text. " * 400,
    )
    page.get_by_role("button", name="Attach it as a file").click()
    expect(page.get_by_test_id("file-chips")).to_contain_text("pasted.txt")
    expect(composer).to_have_value("Sum this up: ")


def test_a_files_share_of_the_attention_is_measured(page: Page) -> None:
    attach(page, "minutes.pdf", pdf(["The lighthouse is painted in May."]))
    expect(page.get_by_test_id("file-chips").get_by_role("listitem")).to_contain_text("tokens", timeout=120_000)
    write(page, "When is the lighthouse painted?")
    wait_until_written(page)
    look_inside(page)
    open_tab(page, "Tokens")
    measured = page.get_by_test_id("source-attention")
    measured.get_by_role("button", name="Measure it").click()
    row = measured.get_by_role("row", name="document · minutes.pdf")
    expect(row).to_contain_text("%", timeout=120_000)
    expect(measured.get_by_test_id("shared-token").first).to_have_attribute("title", re.compile("minutes.pdf"))
