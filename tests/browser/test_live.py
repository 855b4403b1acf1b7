"""The live page, the strip and the wall in a browser: a real answer moves their figures, and is stopped from there."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import findings
from tests.browser.running import ENDLESS, Running, post, send
from tests.browser.visiting import visit
from tests.browser.waiting import wait_until

WIDTHS = [(1280, 900), (390, 844)]


def base_of(product: Running) -> str:
    return product.link[: product.link.index("/signin/")]


class Answer(NamedTuple):
    """An answer that is being written."""

    conversation: str
    request: str


def begin_answer(page: Page, product: Running) -> Answer:
    """Send a message whose answer takes minutes."""
    base = base_of(product)
    conversation = post(page, base, "/api/conversations", {})["id"]
    params = {"max_tokens": 6000, "seed": 1, **ENDLESS}
    message = {"text": "Tell a very long story.", "params": params}
    sent = post(page, base, f"/api/conversations/{conversation}/messages", message)
    return Answer(conversation, sent["assistant_message"]["request_id"])


def figure(part: Page | Locator, name: str) -> Locator:
    page = part.page if isinstance(part, Locator) else part
    heading = page.get_by_role("heading", name=name, exact=True)
    return part.get_by_role("listitem").filter(has=heading).locator("b")


def number(shown: Locator) -> float:
    text = shown.inner_text().replace(",", "")
    return float(text) if re.fullmatch(r"[\d.]+", text) else 0.0


def stop_what_runs(page: Page, base: str) -> None:
    """Stop every answer: a failed test of this or another module may have left one that waits for a choice."""
    workers = page.request.get(f"{base}/api/live").json()["now"]["workers"]
    for request in [each["id"] for worker in workers for each in worker["requests"]]:
        # One that has ended meanwhile is refused.
        send(page, base, f"/api/live/requests/{request}/stop", {})


@pytest.fixture
def live(page: Page, product: Running) -> Page:
    stop_what_runs(page, base_of(product))
    visit(page, f"{base_of(product)}/admin/live/")
    expect(page.get_by_role("heading", name="Live")).to_be_visible()
    expect(page.get_by_text("ready", exact=True).first).to_be_visible()
    return page


def test_an_answer_moves_the_figures_and_is_stopped_from_the_live_page(live: Page, product: Running) -> None:
    fleet = live.get_by_role("list", name="All workers together")
    expect(figure(fleet, "Streams now")).to_have_text("0")
    answer = begin_answer(live, product)
    expect(figure(fleet, "Streams now")).to_have_text("1")
    wait_until(live, lambda: number(figure(fleet, "Tokens a second")) > 0)
    worker = live.get_by_role("list", name=re.compile("^Figures of "))
    wait_until(live, lambda: number(figure(worker, "Answer tokens a second")) > 0)
    expect(figure(worker, "Batch")).to_have_text("1")
    expect(figure(worker, "Step time")).to_contain_text("ms")
    row = live.get_by_role("row").filter(has_text="req_")
    expect(row).to_contain_text("answer is written")
    expect(row).to_contain_text("test_live")
    stop = row.get_by_role("button")
    stop.click()
    expect(stop).to_contain_text("request?")
    stop.click()
    expect(live.get_by_text("No request runs now.")).to_be_visible()
    expect(figure(fleet, "Streams now")).to_have_text("0")
    visit(live, f"{base_of(product)}/c/{answer.conversation}")
    expect(live.get_by_text(re.compile("An operator stopped|stopped", re.IGNORECASE)).first).to_be_visible()
    entry = live.request.get(f"{base_of(product)}/api/audit").json()["entries"][0]
    assert (entry["action"], entry["subject_kind"]) == ("stopped", "request")
    assert entry["actor"].startswith("test_live")


def test_the_last_fifteen_minutes_are_drawn_at_once(live: Page) -> None:
    charts = live.get_by_role("img", name=re.compile("Answer tokens a second in the last 15 minutes"))
    assert charts.locator("path.line").get_attribute("d")


def test_the_strip_leads_from_the_desk_to_the_live_page_and_back(live: Page, product: Running) -> None:
    visit(live, f"{base_of(product)}/admin/")
    strip = live.get_by_role("region", name="Now")
    expect(strip).to_contain_text("1 ready")
    strip.get_by_role("link", name="Live").click()
    expect(live).to_have_url(re.compile("/admin/live/$"))
    live.get_by_role("navigation", name="Desk").get_by_role("link", name="Usage").click()
    expect(live).to_have_url(re.compile("/admin/$"))


def test_the_wall_has_nothing_but_the_wall(live: Page, product: Running) -> None:
    live.set_viewport_size({"width": 1920, "height": 1080})
    visit(live, f"{base_of(product)}/admin/wall/")
    expect(figure(live, "Streams now")).to_have_text("0")
    expect(live.get_by_role("navigation")).to_have_count(0)
    expect(live.locator("html")).to_have_attribute("data-theme", "dark")
    assert figure(live, "Streams now").evaluate("each => parseFloat(getComputedStyle(each).fontSize)") >= 96
    overflow = "element => [element.scrollWidth - element.clientWidth, element.scrollHeight - element.clientHeight]"
    assert live.locator(".wall[aria-busy]").evaluate(overflow) == [0, 0]
    live.keyboard.press("Escape")
    expect(live).to_have_url(re.compile("/admin/live/$"))
    live.set_viewport_size({"width": 1360, "height": 860})


@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_it_fits_and_is_accessible(live: Page, product: Running, width: int, height: int) -> None:
    answer = begin_answer(live, product)
    live.set_viewport_size({"width": width, "height": height})
    row = live.get_by_role("row").filter(has_text="req_")
    expect(row).to_contain_text("answer is written")
    overflow = "element => element.scrollWidth - element.clientWidth"
    assert live.locator("html").evaluate(overflow) == 0
    assert live.locator(".scroller").evaluate(overflow) == 0
    assert findings(live) == []
    post(live, base_of(product), f"/api/requests/{answer.request}/cancel", {})
    expect(live.get_by_text("No request runs now.")).to_be_visible()
    live.set_viewport_size({"width": 1360, "height": 860})


def test_the_wall_is_accessible(live: Page, product: Running) -> None:
    visit(live, f"{base_of(product)}/admin/wall/")
    expect(figure(live, "Streams now")).to_be_visible()
    assert findings(live) == []
