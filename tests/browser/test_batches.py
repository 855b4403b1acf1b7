"""A reader begins a batch of three lines, watches them finish, opens a trace, and downloads the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import findings
from tests.browser.running import Running
from tests.browser.test_acting import WIDTHS
from tests.browser.test_desk import at
from tests.browser.visiting import visit

HOSTILE = '<img src=x onerror="window.hit=1">'
_FITS = "document.documentElement.scrollWidth <= window.innerWidth"


def line(name: str, **change: Any) -> str:
    messages = [{"role": "user", "content": f"Name a river. {HOSTILE}"}]
    body = {"model": "smollm2-135m-instruct", "max_tokens": 8, "messages": messages} | change
    return json.dumps({"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body})


@pytest.fixture
def batches(page: Page, product: Running) -> Iterator[Page]:
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, at(product, "/batches"))
    expect(page.get_by_role("heading", name="Batches", exact=True)).to_be_visible()
    yield page
    assert page.evaluate("window.hit") is None


def begin(page: Page, *lines: str) -> None:
    page.get_by_label("JSON Lines").fill("\n".join(lines))
    page.get_by_role("button", name="Begin the batch").click()


def test_the_first_mistake_is_named_and_nothing_is_saved(batches: Page) -> None:
    begin(batches, line("a"), line("b", temperature=9), line("c", top_p=9))
    expect(batches.get_by_role("alert")).to_have_text("Line 2: temperature must be from 0 to 2.")
    expect(batches.get_by_text("There is none yet.")).to_be_visible()


def test_three_lines_of_a_file_finish_and_lead_to_trace_and_download(batches: Page, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text("\n".join(line(f"{name} {HOSTILE}") for name in ("first", "second", "third")))
    batches.get_by_label("File").set_input_files(file)
    expect(batches.get_by_label("JSON Lines")).to_have_value(file.read_text())
    batches.get_by_role("button", name="Begin the batch").click()
    expect(batches.get_by_role("status").filter(has_text="has begun.")).to_be_visible()
    listed = batches.get_by_role("list", name="Your batches").get_by_role("listitem").first
    expect(listed).to_contain_text("by this page")
    listed.get_by_role("link").click()
    expect(batches.get_by_test_id("progress")).to_have_text("3 of 3 lines done")
    expect(batches.get_by_test_id("state")).to_have_text("completed")
    rows = batches.get_by_role("table").get_by_role("row")
    expect(rows.nth(1)).to_contain_text(re.compile(r"first.*done.*\d+ in, \d+ out.*\$0\.0"))
    assert findings(batches) == []
    for width, height in WIDTHS:
        batches.set_viewport_size({"width": width, "height": height})
        assert batches.evaluate(_FITS)
    with batches.expect_download() as waited:
        batches.get_by_role("link", name="Download answers").click()
    answers = [json.loads(each) for each in Path(waited.value.path()).read_text().splitlines()]
    assert [each["custom_id"].split()[0] for each in answers] == ["first", "second", "third"]
    assert all(each["response"]["body"]["choices"][0]["message"]["content"] for each in answers)
    rows.nth(2).get_by_role("link", name="Trace").click()
    expect(batches).to_have_url(re.compile("/requests/req_"))
    expect(batches.get_by_role("main")).to_contain_text("Name a river.")


def test_a_batch_is_cancelled(batches: Page) -> None:
    begin(batches, *(line(f"n{n}", max_tokens=400) for n in range(40)))
    listed = batches.get_by_role("list", name="Your batches").get_by_role("listitem").first
    expect(listed).to_contain_text("of 40")
    listed.get_by_role("link").click()
    batches.get_by_role("button", name="Cancel the batch").click()
    dialog = batches.get_by_role("dialog")
    expect(dialog).to_contain_text("No further line begins.")
    dialog.get_by_role("button", name="Cancel the batch").click()
    expect(batches.get_by_test_id("state")).to_have_text("cancelled")
    expect(batches.get_by_role("link", name="Download errors")).to_be_visible()
    assert findings(batches) == []
