"""A reader pastes a request, sees its parts, price and difference, sends it, and finds a program's recording."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import findings
from tests.browser.running import Running, post
from tests.browser.test_acting import WIDTHS
from tests.browser.test_desk import at
from tests.browser.visiting import visit
from tests.webapp.surfaces.bring.streams import MESSAGE, sse

HOSTILE = '<img src=x onerror="window.hit=1">'
BODY = {
    "model": "gpt-elsewhere",
    "max_tokens": 8,
    "messages": [
        {"role": "system", "content": "You answer in a few words."},
        {"role": "user", "content": f"Name a river. {HOSTILE}"},
    ],
}
_FITS = "document.documentElement.scrollWidth <= window.innerWidth"


@pytest.fixture
def bring(page: Page, product: Running) -> Iterator[Page]:
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, at(product, "/bring"))
    expect(page.get_by_role("heading", name="Bring a request")).to_be_visible()
    yield page
    assert page.evaluate("window.hit") is None


def paste(page: Page, text: str) -> None:
    """As the keys do it."""
    page.get_by_label(re.compile("Text of turn")).fill(text)
    page.get_by_role("button", name="Take apart").click()


def test_a_pasted_body_shows_its_parts_and_price_and_is_sent(bring: Page) -> None:
    paste(bring, json.dumps(BODY))
    expect(bring.get_by_test_id("recognised")).to_contain_text(
        re.compile(r"OpenAI chat completions.* for gpt-elsewhere · \d+ tokens by smollm2-135m-instruct")
    )
    apart = bring.get_by_role("region", name="Taken apart")
    parts = apart.get_by_role("listitem")
    expect(parts.filter(has_text="new message · messages[1]")).to_contain_text(HOSTILE)
    expect(parts.filter(has_text="system · messages[0]")).to_contain_text(re.compile(r"\d+ tokens, \d+–\d+"))
    row = apart.get_by_role("row", name=re.compile("Prompt, nothing cached"))
    expect(row).to_contain_text(re.compile(r"\d+ computed.*\$[\d.]+"))
    expect(apart.get_by_role("row", name=re.compile("^Answer"))).to_contain_text("unknown")
    expect(apart).to_contain_text("whole blocks of")
    assert findings(bring) == []
    apart.get_by_role("button", name="Send it to smollm2-135m-instruct").click()
    expect(bring).to_have_url(re.compile(r"/requests/req_"))


def test_an_example_is_taken_apart_by_one_click_and_its_turns_differ(bring: Page) -> None:
    bring.get_by_role("button", name="Take the example apart").click()
    expect(bring.get_by_test_id("difference")).to_contain_text(
        re.compile(r"goes on after all \d+ tokens|first \d+ tokens are the same")
    )
    apart = bring.get_by_role("region", name="Taken apart")
    expect(apart).to_contain_text(re.compile(r"3 parts new, 0 changed, 0 gone\."))
    expect(apart).to_contain_text(re.compile(r"Breakpoint after \d+ tokens .*for 1 hour: \d+ tokens in whole blocks"))
    bring.get_by_role("button", name="Turn 1", exact=True).click()
    expect(apart).to_contain_text("There is none. Add the next turn")
    bring.get_by_role("button", name="Remove turn 1").click()
    expect(apart).to_contain_text("tool result")


def test_a_dropped_stream_becomes_its_answer(bring: Page) -> None:
    files = bring.locator("input[type=file]")
    files.set_input_files({"name": "s.txt", "mimeType": "text/plain", "buffer": sse(MESSAGE[:-2]).encode()})
    expect(bring.get_by_test_id("cut")).to_contain_text("The stream breaks off")
    apart = bring.get_by_role("region", name="Taken apart")
    expect(apart).to_contain_text("It is sunny.")
    expect(apart).to_contain_text("calls clock")
    files.set_input_files({"name": "b.bin", "mimeType": "text/plain", "buffer": b'{"a": "\xff"}'})
    expect(bring.get_by_role("alert")).to_contain_text("byte 8 cannot be read")
    files.set_input_files({"name": "big.txt", "mimeType": "text/plain", "buffer": b"x" * (768 * 1024 + 1)})
    expect(bring.get_by_role("alert")).to_contain_text("768 KiB can be taken apart")


def test_a_fault_is_told_with_its_place(bring: Page) -> None:
    paste(bring, '{\n  "model": "m",\n  "messages" []\n}')
    expect(bring.get_by_role("alert")).to_contain_text("line 3, character 14")
    paste(bring, json.dumps(BODY | {"messages": [{"role": "wizard", "content": "Hi"}]}))
    expect(bring.get_by_role("alert")).to_contain_text("messages[0].role")


def test_a_programs_recording_lists_its_turns(page: Page, product: Running) -> None:
    base = at(product, "")
    visit(page, at(product, "/recordings"))
    key = post(page, base, "/api/keys", {"name": "agent"})["secret"]
    page.get_by_label("Name").fill("Not a name")
    expect(page.get_by_text("1 to 40 characters")).to_be_visible()
    page.get_by_label("Name").fill("my-agent")
    address = page.get_by_test_id("openai-address").inner_text()
    said = list(BODY["messages"])  # type: ignore[call-overload]
    for text in ("It is the Nile.", None):
        answer = httpx.post(
            f"{address}/chat/completions",
            json=BODY | {"model": "smollm2-135m-instruct", "messages": said},
            headers={"Authorization": f"Bearer {key}"},
            timeout=240,
        )
        assert answer.status_code == 200, answer.text
        said += [{"role": "assistant", "content": text}, {"role": "user", "content": "And another?"}]
    page.reload()
    listed = page.get_by_role("list", name="Your recordings").get_by_role("listitem")
    expect(listed).to_contain_text("2 turns")
    assert findings(page) == []
    listed.get_by_role("link", name="my-agent").click()
    turns = page.get_by_role("main").get_by_role("listitem")
    expect(turns).to_have_count(2)
    expect(turns.nth(0)).to_contain_text("the first turn")
    expect(turns.nth(1)).to_contain_text(re.compile(r"\d+ tokens the same .*; 2 new parts"))
    assert findings(page) == []
    turns.nth(1).get_by_role("link", name="Compare both").click()
    expect(page).to_have_url(re.compile(r"/compare\?ids=req_\w+,req_\w+"))
    visit(page, at(product, "/recordings"))
    page.get_by_role("button", name="Delete my-agent").click()
    dialog = page.get_by_role("dialog", name="Delete my-agent")
    expect(dialog).to_contain_text("Their traces stay in your library")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("There is none yet.")).to_be_visible()


def test_the_pages_fit_and_can_be_read(bring: Page, product: Running) -> None:
    bring.get_by_role("button", name="Take the example apart").click()
    expect(bring.get_by_test_id("difference")).to_be_visible()
    check_sizes(bring)
    visit(bring, at(product, "/recordings"))
    expect(bring.get_by_text("There is none yet.")).to_be_visible()
    check_sizes(bring)


def check_sizes(page: Page) -> None:
    for width, height in WIDTHS:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate(_FITS)
        assert findings(page) == []
