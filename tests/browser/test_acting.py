"""An operator acts from the desk: previews and sets prices, stops a user while an answer is written, shows a notice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import findings
from tests.browser.running import Running, post
from tests.browser.test_desk import at
from tests.browser.visiting import page_of, visit
from tests.browser.waiting import wait_until

STOPPED = "busybody"
WIDTHS = [(1280, 900), (390, 844)]


@pytest.fixture(scope="module")
def desk(page: Page, demonstration: None) -> Page:
    """The operator's page."""
    return page


@pytest.fixture(scope="module")
def other(page: Page, product: Running) -> Iterator[Page]:
    """The page of another user, in a browser of their own."""
    found = page_of(page.context.browser, product.manage("signin_link", "--user", STOPPED).strip())
    yield found
    found.context.close()


def base_of(product: Running) -> str:
    return at(product, "")


def test_prices_are_previewed_before_they_are_set_and_can_be_taken_back(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/prices/"))
    desk.get_by_role("button", name="New prices of demo-large").click()
    dialog = desk.get_by_role("dialog", name="New prices of demo-large")
    # Not the first possible day: it is today where no request has been priced since midnight.
    dialog.get_by_label("From").fill((datetime.now(UTC).date() + timedelta(days=2)).isoformat())
    dialog.get_by_label("Output").fill("-1")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text("A price cannot be negative.")).to_be_visible()
    dialog.get_by_label("Output").fill("30.00")
    dialog.get_by_role("button", name="Preview").click()
    preview = dialog.get_by_role("status", name="Preview")
    expect(preview).to_contain_text(re.compile(r"The last 30 days would have cost \$[\d.]+ instead of \$[\d.]+, \+\d+"))
    expect(preview.get_by_role("list", name="Users whose cost changes most").get_by_role("listitem")).not_to_have_count(
        0
    )
    prices = desk.request.get(at(product, "/api/prices")).json()["models"]
    assert [len(model["spans"]) for model in prices if model["model"] == "demo-large"] == [1]
    dialog.get_by_label("Input").fill("4.00")
    expect(dialog.get_by_role("button", name="Set these prices")).to_have_count(0)
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_role("button", name="Set these prices").click()
    table = desk.get_by_role("region", name="Prices of demo-large")
    expect(table.get_by_role("row").filter(has_text="to come")).to_contain_text("30.00")
    table.get_by_role("button", name="Remove").click()
    expect(table.get_by_role("row").filter(has_text="to come")).to_have_count(0)


def test_a_user_is_stopped_while_an_answer_is_written(desk: Page, other: Page, product: Running) -> None:
    base = base_of(product)
    conversation = post(other, base, "/api/conversations", {})["id"]
    visit(other, f"{base}/c/{conversation}")
    # Each token waits to be taken, so the answer is open for as long as it has to be.
    other.get_by_role("button", name="Step", exact=True).click()
    question = other.get_by_test_id("composer")
    question.fill("Count from one to one thousand, in words.")
    question.press("Enter")
    expect(other.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    wait_until(other, lambda: _is_running(other, base, conversation))
    visit(desk, at(product, f"/admin/users/?text={STOPPED}"))
    desk.get_by_role("link", name=STOPPED).click()
    desk.get_by_role("button", name="Stop this user now").click()
    dialog = desk.get_by_role("dialog", name=f"Stop {STOPPED} now")
    dialog.get_by_label("Reason").fill("Too <b>much</b> at once")
    dialog.get_by_role("button", name="Stop the user").click()
    expect(desk.get_by_text(f"{STOPPED} is stopped. 1 running request was stopped.")).to_be_visible()
    expect(other.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    question.fill("Again?")
    question.press("Enter")
    expect(other.get_by_text("An operator has stopped your sending: Too <b>much</b> at once")).to_be_visible()
    desk.get_by_role("button", name="Undo the stop").click()
    desk.get_by_role("dialog").get_by_role("button", name="Let the user send").click()
    expect(desk.get_by_text(f"{STOPPED} can send again.")).to_be_visible()
    sent = post(
        other, base, f"/api/conversations/{conversation}/messages", {"text": "Again?", "params": {"max_tokens": 2}}
    )
    assert sent["assistant_message"]["request_id"]


def _is_running(page: Page, base: str, conversation: str) -> bool:
    messages = page.request.get(f"{base}/api/conversations/{conversation}").json()["messages"]
    (request_id,) = [message["request_id"] for message in messages if message["request_id"]]
    found: bool = page.request.get(f"{base}/api/requests/{request_id}").json()["status"] == "running"
    return found


def test_a_notice_reaches_an_open_page_and_is_dismissed(desk: Page, other: Page, product: Running) -> None:
    visit(other, at(product, "/library"))
    visit(desk, at(product, "/admin/notices/"))
    desk.get_by_label("Text").fill("Maintenance at <i>noon</i>")
    desk.get_by_role("button", name="Show the notice").click()
    expect(desk.get_by_role("row").filter(has_text="shown now")).to_contain_text("Maintenance at <i>noon</i>")
    bar = other.get_by_role("status", name="Notices")
    expect(bar).to_contain_text("Maintenance at <i>noon</i>")
    bar.get_by_role("button", name="Dismiss the notice").click()
    other.reload()
    expect(
        other.get_by_role("button", name="New chat").or_(other.get_by_role("link", name="New chat")).first
    ).to_be_visible()
    expect(bar).not_to_contain_text("Maintenance")
    desk.get_by_role("row").filter(has_text="shown now").get_by_role("button", name="End now").click()
    expect(desk.get_by_role("row").filter(has_text="over")).to_contain_text("Maintenance")


@pytest.mark.parametrize("path", ["users/", "prices/", "notices/"])
def test_the_pages_are_accessible_and_fit(desk: Page, product: Running, path: str) -> None:
    for width, height in WIDTHS:
        desk.set_viewport_size({"width": width, "height": height})
        visit(desk, at(product, f"/admin/{path}"))
        expect(desk.get_by_role("heading", level=1)).to_be_visible()
        expect(desk.locator("[aria-busy=false]").first).to_be_visible()
        assert findings(desk) == []
        assert desk.evaluate("document.documentElement.scrollWidth <= innerWidth")
