"""The menu of exports in a real browser, and the web page among them, which needs no server."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.synthetic_trace import trace_file
from tests.browser.running import Running

NUM_TOKENS = 40


@pytest.fixture(scope="module")
def library(page: Page, product: Running) -> str:
    """Address of the library, which holds one trace."""
    base = product.link.partition("/signin/")[0]
    page.goto(f"{base}/library")
    file = {"name": "a.sgtrace", "mimeType": "application/octet-stream", "buffer": trace_file(NUM_TOKENS)}
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_role("button", name="Export")).to_be_visible()
    return f"{base}/library"


def test_the_menu_is_used_by_keys_alone(page: Page, library: str) -> None:
    page.goto(library)
    button = page.get_by_role("button", name="Export")
    menu = page.get_by_role("list", name="Export as")
    button.focus()
    page.keyboard.press("Enter")
    expect(menu.get_by_role("link").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(menu.get_by_role("link", name="JSON every event")).to_be_focused()
    page.keyboard.press("End")
    expect(menu.get_by_role("link").last).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()


def download(page: Page, library: str, name: str, to: Path) -> Path:
    page.goto(library)
    page.get_by_role("button", name="Export").first.click()
    with page.expect_download() as download:
        page.get_by_role("list", name="Export as").get_by_role("link", name=name).click()
    path = to / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_the_web_page_replays_and_asks_for_nothing(page: Page, library: str, tmp_path: Path) -> None:
    path = download(page, library, "Web page", tmp_path)
    context = page.context.browser.new_context(offline=True)  # type: ignore[union-attr]
    alone = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    alone.on("request", lambda request: asked.append(request.url))
    alone.on("console", lambda message: said.append(message.text))
    alone.on("pageerror", lambda error: said.append(str(error)))
    alone.goto(path.as_uri())
    position = alone.get_by_test_id("replay-position")
    expect(position).to_contain_text(f"{NUM_TOKENS} / {NUM_TOKENS}")
    for tab in alone.get_by_role("tab").all():
        tab.click()
        expect(alone.get_by_role("tabpanel")).not_to_be_empty()
    expect(alone.get_by_role("tab", name="Layers")).to_have_count(0)
    alone.get_by_role("button", name="One token back").click()
    expect(position).to_contain_text(f"{NUM_TOKENS - 1} / {NUM_TOKENS}")
    assert (asked, said) == ([path.as_uri()], [])
    context.close()


def test_a_json_trace_is_imported_on_the_library_page(page: Page, library: str, tmp_path: Path) -> None:
    path = download(page, library, "JSON every event", tmp_path)
    page.locator("input[type=file]").set_input_files(path)
    expect(page.get_by_role("status").filter(has_text="Imported")).to_be_visible()
    expect(page.get_by_role("button", name="Export")).to_have_count(2)
