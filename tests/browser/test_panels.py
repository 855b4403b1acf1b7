"""The inspector's panels in a real browser, on recorded requests: one with all that is recorded today, one from before
blocks and steps were, and one that was blocked before it had any."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from inference.protocol.codec import decode_frame
from tests.browser.panels import each_tab, look_inside, open_tab
from tests.browser.running import ROOT, Running
from tests.browser.visiting import visit
from webapp.traces.file.jsonfile import encode_json

LOGS = ROOT / "tests" / "golden" / "logs"


@pytest.fixture(scope="module")
def addresses(page: Page, product: Running) -> dict[str, str]:
    """Of the imported requests' pages, by name."""
    base = product.link.partition("/signin/")[0]
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    found = {}
    for name in ("second_turn", "finished", "blocked"):
        frames = json.loads((LOGS / f"{name}.json").read_text("utf-8"))["frames"]
        data = encode_json([decode_frame(json.dumps(frame)) for frame in frames], {"title": name})
        file = {"name": Path(name).with_suffix(".json").name, "mimeType": "application/json", "buffer": data}
        headers = {"X-CSRFToken": token, "Referer": base}
        answer = page.request.post(f"{base}/api/requests/import", headers=headers, multipart={"file": file})
        assert answer.status == 201, answer.text()
        found[name] = f"{base}/requests/{answer.json()['requests'][0]['id']}"
    return found


def open_panel(page: Page, address: str, name: str) -> str:
    """Its text, with plain spaces."""
    if page.url != address:
        visit(page, f"{address}?panel={name}")
    panel = page.get_by_role("tabpanel", name=name, exact=True)
    expect(panel).not_to_be_empty()
    return re.sub(r"\s+", " ", panel.inner_text())


@pytest.mark.parametrize(
    ("panel", "recorded", "before", "blocked"),
    [
        ("Gateway", "requests open at once", "requests open at once", "requests open at once"),
        ("Context", "56 tokens in changed segments", "First message of this chat", "ended before its context"),
        ("Tokens", "From bytes to text", "From bytes to text", "ended before its first token"),
        ("Cache", "a number changed, as in a date", "does not record the model", "ended before its cache lookup"),
        ("Batch", "this request never wrote alone", "No other request shared them", "ended before any step"),
        ("Sampling", "mean surprise", "mean surprise", "ended before its first token"),
        ("Guessing", "11 of them (91.7 %) accepted", "1 of them (25.0 %) accepted", "guessed no tokens ahead"),
        ("Grammar", "had no grammar", "had no grammar", "had no grammar"),
        ("Tools", "called no tool", "called no tool", "called no tool"),
        ("Network", "read the saved trace", "read the saved trace", "read the saved trace"),
        ("Bill", "no entry for this request", "no entry for this request", "nothing to pay"),
        ("Events", "55 of 55 events", "28 of 28 events", "4 of 4 events"),
    ],
)
def test_each_panel_tells_what_is_recorded_and_what_is_not(
    page: Page, addresses: dict[str, str], panel: str, recorded: str, before: str, blocked: str
) -> None:
    for name, text in (("second_turn", recorded), ("finished", before), ("blocked", blocked)):
        open_panel(page, addresses[name], panel)
        expect(page.get_by_role("tabpanel")).to_contain_text(text)
        shown = page.get_by_role("tabpanel").inner_text()
        assert not re.search(r"\b(undefined|NaN|null|Infinity)\b", shown), shown


def test_a_panel_that_cannot_be_fetched_says_so_and_is_fetched_again(page: Page, addresses: dict[str, str]) -> None:
    script = re.compile(r"/ToolsPanel-[^/]*\.js$")
    page.route(script, lambda route: route.abort())
    page.goto(f"{addresses['finished']}?panel=Tools")
    panel = page.get_by_role("tabpanel", name="Tools", exact=True)
    expect(panel.get_by_role("alert")).to_contain_text("Tools did not load.")
    page.unroute(script)
    panel.get_by_role("button", name="Try again").click()
    expect(panel).to_contain_text("called no tool")


def test_a_panel_on_its_way_leaves_no_other_panel_under_its_tab(page: Page, addresses: dict[str, str]) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    script = re.compile(r"/BillPanel-[^/]*\.js$")
    page.route(script, hold)
    open_panel(page, addresses["second_turn"], "Timing")
    expect(page.get_by_role("tabpanel")).not_to_be_empty()
    with page.expect_request(script):
        page.get_by_role("tab", name="Bill").click()
    panel = page.get_by_role("tabpanel", name="Bill")
    expect(panel).to_have_attribute("aria-busy", "true")
    expect(panel).to_be_empty()
    held[0].continue_()
    expect(panel).to_have_attribute("aria-busy", "false")
    expect(panel).not_to_be_empty()
    page.unroute(script)


def test_a_block_is_told_of_by_mouse_and_by_keys(page: Page, addresses: dict[str, str]) -> None:
    open_panel(page, addresses["second_turn"], "Cache")
    blocks = page.get_by_test_id("blocks").get_by_role("button")
    expect(blocks).to_have_count(9)
    assert [block.get_attribute("data-origin") for block in blocks.all()] == ["taken"] * 2 + ["computed"] * 7
    blocks.first.click()
    told = page.get_by_test_id("block")
    expect(told).to_contain_text("1 request")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(blocks.nth(2)).to_be_focused()
    expect(told).to_contain_text("computed by this request")
    page.keyboard.press("End")
    expect(told).to_contain_text("Block 9")


def test_a_label_explains_itself_and_leads_to_its_exhibit(page: Page, addresses: dict[str, str]) -> None:
    open_panel(page, addresses["second_turn"], "Cache")
    page.get_by_role("button", name="evicted for this request").click()
    note = page.locator("[popover]:popover-open")
    expect(note).to_contain_text("the least recently used goes first")
    expect(note.get_by_role("link")).to_have_attribute("href", "/learn/cache")
    page.keyboard.press("Escape")
    expect(note).to_have_count(0)


def test_a_step_moves_the_playhead_of_every_panel(page: Page, addresses: dict[str, str]) -> None:
    open_panel(page, addresses["second_turn"], "Batch")
    steps = page.get_by_test_id("steps")
    steps.focus()
    page.keyboard.press("Home")
    expect(steps).to_have_attribute("aria-valuenow", "1")
    expect(page.get_by_test_id("replay-position")).to_contain_text(re.compile(r"^\s*[01] / 24"))
    page.keyboard.press("ArrowRight")
    expect(steps).to_have_attribute("aria-valuenow", "2")
    page.get_by_role("button", name="Skip to the end").click()
    expect(steps).to_have_attribute("aria-valuenow", "13")


def test_a_line_of_the_bill_leads_to_its_tokens(page: Page, addresses: dict[str, str]) -> None:
    open_panel(page, addresses["second_turn"], "Bill")
    page.get_by_test_id("bill").get_by_title("Show these tokens").nth(1).click()
    panel = page.get_by_role("tabpanel", name="Tokens")
    expect(panel).to_contain_text("Outlined: 32 tokens of “input from the cache” on the bill.")
    expect(panel.locator(".covered")).to_have_count(32)
    panel.get_by_role("button", name="Clear").click()
    expect(panel.locator(".covered")).to_have_count(0)


def test_events_are_found_by_a_path_and_a_wrong_one_is_refused(page: Page, addresses: dict[str, str]) -> None:
    open_panel(page, addresses["second_turn"], "Events")
    panel = page.get_by_role("tabpanel")
    page.get_by_label("JSON path").fill("$.indices[0] == 7")
    expect(panel).to_contain_text("1 of 55 events")
    page.get_by_label("JSON path").fill("$.indices[")
    expect(panel).to_contain_text("(at character 10)")
    page.get_by_label("JSON path").fill("")
    page.get_by_role("searchbox", name="Text").fill("lighthouse")
    expect(panel).to_contain_text("0 of 55 events")
    page.get_by_role("searchbox", name="Text").fill("")
    page.get_by_role("combobox", name="Type").select_option("draft.verified")
    expect(panel).to_contain_text("5 of 55 events")


def test_the_tabs_are_walked_by_keys_and_none_is_lost_on_a_phone(page: Page, addresses: dict[str, str]) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    open_panel(page, addresses["second_turn"], "Timing")
    tabs = page.get_by_role("tab")
    names = ["Timing", "Network", "Bill", "Events"]
    expect(tabs).to_have_text(names)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    tabs.first.focus()
    page.keyboard.press("End")
    expect(tabs.last).to_be_in_viewport(ratio=0.9)
    expect(tabs.last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", selected=True)).to_have_text(names[0])
    for name in each_tab(page):
        assert page.evaluate("document.documentElement.scrollWidth") == 360, name
    page.set_viewport_size({"width": 1360, "height": 860})


def test_a_live_request_shows_its_frames_as_they_came_and_its_bill_in_the_ledger(page: Page, product: Running) -> None:
    visit(page, product.link.partition("/signin/")[0])
    page.get_by_test_id("composer").fill("What is the capital of France? Answer in English.")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("button", name="Regenerate")).to_be_attached(timeout=30_000)
    look_inside(page)
    open_tab(page, "Bill")
    expect(page.get_by_test_id("ledger")).to_contain_text("Equal to the ledger, line by line", timeout=10_000)
    open_tab(page, "Network")
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("over the page's WebSocket")
    expect(panel).to_contain_text("arrived")
    frame = page.get_by_test_id("frames").locator("details").first
    frame.locator("summary").click()
    expect(frame.locator("pre").last).to_be_visible()
    sent, sse = frame.locator("pre").all_inner_texts()
    tag, _, rest = sent.partition(",")
    assert re.fullmatch(r'\{"tag":\d+', tag)
    assert sse.strip().endswith("data: {" + rest.strip())


def test_what_the_turn_before_said_is_shown_until_it_is_deleted(page: Page, product: Running) -> None:
    """Two live turns, of which the second has another system prompt."""
    base = product.link.partition("/signin/")[0]
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    headers = {"X-CSRFToken": token, "Referer": base}

    def wait_until_done(request_id: str) -> None:
        deadline = time.monotonic() + 60
        while call("GET", f"requests/{request_id}", None)["status"] != "done":
            assert time.monotonic() < deadline, request_id
            time.sleep(0.05)

    def call(method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        answer = page.request.fetch(f"{base}/api/{path}", method=method, headers=headers, data=body)
        assert answer.ok, answer.text()
        found: dict[str, Any] = answer.json() if answer.status != 204 else {}
        return found

    conversation = call("POST", "conversations", {"system_prompt": f"You are a guide. It is 09:14. {'Be kind. ' * 20}"})
    path, parent, requests = f"conversations/{conversation['id']}", None, []
    for system_prompt in (None, f"You are a guide. It is 10:31. {'Be kind. ' * 20}"):
        if system_prompt:
            call("PATCH", path, {"system_prompt": system_prompt})
        sent = call("POST", f"{path}/messages", {"text": "Hello", "parent_id": parent, "params": {"max_tokens": 3}})
        parent = sent["assistant_message"]["id"]
        requests.append(sent["assistant_message"]["request_id"])
        wait_until_done(requests[-1])
        visit(page, f"{base}/requests/{requests[-1]}?panel=Context")
        expect(page.get_by_role("tabpanel")).to_contain_text(
            "Compared with" if len(requests) > 1 else "First message of this chat", timeout=30_000
        )
    panel = page.get_by_role("tabpanel")
    expect(panel.locator("pre.gone")).to_contain_text("It is 09:14.")
    expect(page.get_by_test_id("difference")).to_contain_text("09:14")
    open_tab(page, "Cache")
    expect(page.get_by_test_id("difference")).to_contain_text("09:14")
    expect(panel).to_contain_text("a number changed, as in a date")
    call("DELETE", f"requests/{requests[0]}", {})
    visit(page, f"{base}/requests/{requests[1]}?panel=Context")
    gone = "The turn before was deleted, together with its text."
    expect(page.get_by_test_id("difference")).to_contain_text(gone)
    expect(panel).not_to_contain_text("09:14")
    open_tab(page, "Cache")
    expect(page.get_by_test_id("difference")).to_contain_text(gone)
    expect(panel).to_contain_text("a number changed, as in a date")
