"""Going on from a token, in a real browser: by keyboard, by an edited text, and along the tree of answers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.panels import look_inside, open_tab
from tests.browser.running import Running
from tests.browser.visiting import begin_chat
from tests.browser.waiting import wait_until

QUESTION = "Write two sentences about a lighthouse."


@pytest.fixture(scope="module", autouse=True)
def short_answers(page: Page, product: Running) -> None:
    begin_chat(page, product, max_tokens=48)


def ask(page: Page, text: str = QUESTION) -> None:
    page.get_by_test_id("composer").fill(text)
    page.keyboard.press("Enter")
    wait_until_written(page)


def wait_until_written(page: Page) -> None:
    expect(page.get_by_role("button", name="Regenerate")).to_be_attached(timeout=60_000)


def shown_text(page: Page) -> str:
    return page.get_by_test_id("assistant-message").inner_text()


def tree(page: Page) -> Locator:
    return page.get_by_test_id("fork-tree").get_by_role("button")


def look_at_token(page: Page, index: int) -> None:
    open_tab(page, "Tokens")
    page.get_by_test_id("token").nth(index).click()
    expect(page.get_by_test_id("sampling-panel")).to_be_focused()


def test_the_answer_goes_on_with_a_candidate_chosen_by_keyboard_alone(page: Page) -> None:
    ask(page)
    before = shown_text(page)
    look_inside(page)
    expect(page.get_by_test_id("fork-tree")).to_have_count(0)
    look_at_token(page, 3)
    rows = page.get_by_test_id("candidate")
    chosen = rows.nth(2).get_by_role("button").get_attribute("aria-label") or ""
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(rows.nth(2)).to_have_class(re.compile(r"\bat\b"))
    page.keyboard.press("Enter")
    expect(tree(page)).to_have_count(2)
    expect(tree(page).nth(1)).to_have_attribute("aria-current", "true")
    wait_until_written(page)
    after = shown_text(page)
    open_tab(page, "Tokens")
    kept = page.get_by_test_id("kept-token")
    expect(kept).to_have_count(4)
    assert chosen == f"Continue with {kept.nth(3).inner_text()}"
    assert after != before
    assert after.startswith("".join(kept.all_inner_texts()).replace("·", " "))


def test_the_tree_leads_from_branch_to_branch(page: Page) -> None:
    after = shown_text(page)
    tree(page).nth(0).click()
    expect(page.get_by_test_id("kept-token")).to_have_count(0)
    before = shown_text(page)
    assert before != after
    tree(page).nth(1).click()
    expect(page.get_by_test_id("assistant-message")).to_have_text(after)


def test_a_kept_token_says_that_it_was_not_sampled_here(page: Page) -> None:
    open_tab(page, "Tokens")
    page.get_by_test_id("kept-token").first.click()
    panel = page.get_by_test_id("sampling-panel")
    expect(panel).to_contain_text("Kept from another answer")
    panel.press("ArrowRight")
    expect(panel).to_contain_text("token 2 of")
    for _ in range(2):
        panel.press("ArrowRight")
    expect(panel).to_contain_text("A person chose or wrote it")


def test_the_text_so_far_is_edited_and_the_answer_goes_on_from_it(page: Page) -> None:
    look_at_token(page, 2)
    page.get_by_role("button", name="Edit the text so far").click()
    dialog = page.get_by_test_id("fork-dialog")
    expect(dialog).to_contain_text("so it will be the same")
    area = dialog.get_by_label("The answer so far")
    area.fill("Every night the keeper")
    expect(dialog).to_contain_text("The unchanged beginning keeps its tokens")
    dialog.get_by_role("button", name="Continue").click()
    expect(dialog).to_have_count(0)
    expect(tree(page)).to_have_count(3)
    wait_until_written(page)
    assert shown_text(page).startswith("Every night the keeper")


def test_a_fork_begun_on_a_request_page_is_shown_there(page: Page) -> None:
    page.get_by_role("link", name="Open as a page").click()
    expect(tree(page)).to_have_count(3)
    path = page.url.partition("?")[0]
    look_at_token(page, 1)
    rows = page.get_by_test_id("candidate")
    rows.nth(1).hover()
    rows.nth(1).get_by_role("button").click()
    page.wait_for_url(lambda url: "/requests/req_" in url and not url.startswith(path))
    expect(page.get_by_test_id("sampling-panel")).to_contain_text("A person chose or wrote it")
    open_tab(page, "Tokens")
    expect(page.get_by_test_id("kept-token").first).to_be_visible()
    expect(tree(page)).to_have_count(4)


def test_settings_that_cannot_hold_are_refused_with_the_reason(page: Page) -> None:
    expect(page.get_by_role("button", name="Export")).to_be_visible(timeout=60_000)
    look_at_token(page, 2)
    page.get_by_role("button", name="Edit the text so far").click()
    dialog = page.get_by_test_id("fork-dialog")
    dialog.get_by_text("Settings", exact=True).click()
    dialog.get_by_label("Longest answer").fill("1")
    dialog.get_by_role("button", name="Continue").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Longest answer must be more than")
    dialog.get_by_role("button", name="Cancel").click()


def proposed(page: Page) -> Locator:
    return page.get_by_test_id("step-bar").get_by_text(re.compile(r"Token \d+ proposed"))


def test_each_token_is_chosen_by_keyboard_alone_and_a_reload_finds_the_session(page: Page, product: Running) -> None:
    begin_chat(page, product, max_tokens=48)
    page.get_by_role("button", name="Step", exact=True).press("Enter")
    page.get_by_test_id("composer").fill(QUESTION)
    page.get_by_test_id("composer").press("Enter")
    expect(proposed(page)).to_contain_text("Token 1 proposed", timeout=30_000)
    page.get_by_role("button", name=re.compile("^Next")).press("Enter")
    expect(proposed(page)).to_contain_text("Token 2 proposed")
    expect(page.get_by_test_id("assistant-message")).not_to_be_empty()
    candidates = page.get_by_test_id("step-candidate")
    candidates.first.focus()
    index = 2 if "drawn" in (candidates.nth(1).get_attribute("class") or "") else 1
    for _ in range(index):
        page.keyboard.press("ArrowRight")
    chosen = candidates.nth(index).locator(".mono").inner_text().replace("·", " ")
    page.keyboard.press("Enter")
    expect(proposed(page)).to_contain_text("Token 3 proposed")
    wait_until(page, lambda: shown_text(page).endswith(chosen.strip()))
    before = shown_text(page)
    page.reload()
    expect(proposed(page)).to_contain_text("Token 3 proposed")
    assert shown_text(page) == before


def test_it_goes_on_by_itself_at_a_pace_and_to_the_end(page: Page) -> None:
    page.get_by_role("button", name="Auto").click()
    expect(page.get_by_test_id("step-bar")).to_contain_text("Auto takes the drawn tokens.")
    expect(page.get_by_test_id("assistant-message").last).to_have_text(re.compile(r"(\S+\s+){3}"), timeout=30_000)
    expect(proposed(page)).to_have_count(0)
    page.get_by_role("button", name="Auto").click()
    expect(proposed(page)).to_have_count(1)
    page.get_by_role("button", name="Finish").click()
    wait_until_written(page)
    expect(page.get_by_test_id("step-bar")).to_have_count(0)
    look_inside(page)
    open_tab(page, "Tokens")
    page.get_by_test_id("token").nth(1).click()
    expect(page.get_by_test_id("sampling-panel")).to_contain_text("a person chose it")


def test_a_paused_answer_is_stopped_at_once(page: Page) -> None:
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("button", name="Step", exact=True).click()
    page.get_by_test_id("composer").fill("And another.")
    page.get_by_test_id("composer").press("Enter")
    expect(proposed(page)).to_contain_text("Token 1 proposed", timeout=30_000)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_test_id("step-bar")).to_have_count(0)
    expect(page.get_by_role("article").last).to_contain_text("Stopped.")
