"""An operator reads a user's trace on the record, tries a policy and a rule, and erases the user."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import findings
from tests.browser.running import Running, post
from tests.browser.test_desk import at
from tests.browser.visiting import page_of, visit
from tests.browser.waiting import wait_until

ASKED = "How do I water a fern in winter?"
"""The policy of the file allows it, so that a lower threshold has an effect."""
NAME = "<i>mona</i>"


@pytest.fixture(scope="module")
def request_id(page: Page, product: Running) -> Iterator[str]:
    """A saved request of another user."""
    base, link = at(product, ""), product.manage("signin_link", "--user", NAME).strip()
    other = page_of(page.context.browser, link)
    conversation = post(other, base, "/api/conversations", {"params": {"max_tokens": 3}})["id"]
    sent = post(other, base, f"/api/conversations/{conversation}/messages", {"text": ASKED})
    found: str = sent["assistant_message"]["request_id"]
    wait_until(other, lambda: other.request.get(f"{base}/api/requests/{found}").json()["status"] == "done")
    yield found
    other.context.close()


def test_reading_anothers_trace_is_told_and_recorded(page: Page, product: Running, request_id: str) -> None:
    visit(page, at(product, "/admin/"))
    page.get_by_role("region", name="List of requests").get_by_role("row").filter(has_text=NAME).get_by_role(
        "link"
    ).click()
    expect(page.get_by_text(f"You are reading {NAME}’s request. This is recorded.")).to_be_visible()
    expect(page.get_by_text(ASKED).first).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Fork|Run again"))).to_have_count(0)
    assert findings(page) == []
    assert page.request.get(at(product, f"/api/requests/{request_id}")).status == 404
    visit(page, at(product, "/admin/audit/"))
    expect(page.get_by_role("listitem").filter(has_text=request_id).first).to_contain_text("read a request of")


def test_a_policy_shows_its_effect_before_it_is_saved(page: Page, product: Running, request_id: str) -> None:
    visit(page, at(product, "/admin/safety/"))
    changed = page.get_by_label("Messages, Violence: flagged from")
    before = changed.input_value()
    versions = page.get_by_role("region", name="Versions").get_by_role("listitem")
    num_versions = versions.count()
    changed.fill("0")
    effect = page.get_by_role("region", name="What would change")
    expect(effect.get_by_role("heading", level=3)).to_have_text(re.compile("now allowed would be flagged"))
    effect.get_by_label("Reason, for the audit log").fill("To try it")
    effect.get_by_role("button", name="Save and put in force").click()
    expect(effect.get_by_text("Saved. It holds for each message sent from now on.")).to_be_visible()
    expect(versions.first).to_contain_text("To try it")
    assert findings(page) == []
    versions.nth(1).get_by_role("button", name="Try these thresholds again").click()
    expect(changed).to_have_value(before)
    page.get_by_role("button", name="Save and put in force").click()
    expect(versions).to_have_count(num_versions + 2)


def test_a_rule_of_the_site_counts_its_traces_first(page: Page, product: Running, request_id: str) -> None:
    visit(page, at(product, "/admin/retention/"))
    days = page.get_by_label("Days for all users")
    days.fill("0")
    expect(page.get_by_text("A rule has 1 to")).to_be_visible()
    days.fill("3000")
    save = page.get_by_role("button", name="Save", exact=True)
    expect(save).to_be_enabled()
    save.click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.reload()
    expect(days).to_have_value("3000")
    days.fill("")
    save.click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert findings(page) == []


def test_a_user_is_erased_by_name(page: Page, product: Running, request_id: str) -> None:
    visit(page, at(product, "/admin/users/"))
    page.get_by_role("link", name=NAME).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as ZIP").click()
    assert download.value.path().read_bytes()[:2] == b"PK"
    page.get_by_role("button", name="Erase …").click()
    dialog = page.get_by_role("dialog", name=f"Erase {NAME}")
    dialog.get_by_role("textbox").fill(NAME)
    dialog.get_by_role("button", name=re.compile("^Erase")).click()
    expect(page.get_by_role("heading", name=re.compile(r"^erased-\d+"))).to_be_visible(timeout=90_000)
    visit(page, at(product, "/admin/audit/"))
    expect(page.get_by_role("heading", name="Audit log")).to_be_visible()
    expect(page.get_by_role("listitem").first).to_be_visible()
    expect(page.get_by_text(NAME)).to_have_count(0)
