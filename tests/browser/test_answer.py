"""The words of an answer in a real browser: the playhead on them, what was nearly said, branching, and the tint."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import findings
from tests.browser.panels import look_inside, open_tab
from tests.browser.running import Running, post
from tests.browser.visiting import begin_chat, visit
from tests.browser.waiting import wait_until

QUESTION = "Write two sentences about a lighthouse."

_PLACE_OF = """([answer, index]) => {
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const words = [...walker.currentNode.data.matchAll(/[A-Za-z]{3,}/g)];
    if (index >= words.length) { index -= words.length; continue; }
    const range = document.createRange();
    range.setStart(walker.currentNode, words[index].index + 1);
    range.setEnd(walker.currentNode, words[index].index + 2);
    const {left, top, width, height} = range.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  }
}"""


def answer(page: Page) -> Locator:
    return page.get_by_test_id("assistant-message").last


def popover(page: Page) -> Locator:
    return page.get_by_test_id("token-popover")


def wait_until_written(page: Page) -> None:
    expect(page.get_by_role("button", name="Regenerate")).to_be_attached(timeout=60_000)


def ranges(page: Page, name: str) -> int:
    return int(page.evaluate("(name) => CSS.highlights.get(name)?.size ?? 0", name))


def tinted(page: Page) -> Locator:
    """The steps of surprise that the answer has."""
    return page.get_by_test_id("glass-tint").locator("path[d^=M]")


def place_of(page: Page, index: int) -> list[float]:
    """The middle of a letter of the answer's word of this number."""
    found: Any = page.evaluate(_PLACE_OF, [answer(page).element_handle(), index])
    return [float(each) for each in found]


@pytest.fixture(scope="module", autouse=True)
def asked(page: Page, product: Running) -> None:
    begin_chat(page, product, max_tokens=64, seed=3)
    page.get_by_test_id("composer").fill(QUESTION)
    page.keyboard.press("Enter")
    wait_until_written(page)


def test_a_word_that_is_pointed_at_tells_what_was_nearly_said(page: Page) -> None:
    page.mouse.move(*place_of(page, 3))
    expect(popover(page)).to_be_visible()
    expect(popover(page).get_by_role("listitem")).to_have_count(6)
    expect(popover(page).get_by_role("listitem").last).to_have_text(re.compile(r"^all others \(49,14\d\)"))
    expect(popover(page).locator(".chosen")).to_have_count(1)
    wait_until(page, lambda: ranges(page, "linked-token") == 1)
    page.mouse.move(2, 2)
    expect(popover(page)).to_have_count(0)


def test_a_click_leads_the_replay_to_the_word_and_dims_what_follows(page: Page) -> None:
    look_inside(page)
    page.mouse.click(*place_of(page, 3))
    expect(popover(page)).to_have_attribute("data-pinned", "true")
    expect(page.get_by_test_id("playhead-mark").locator("i")).to_have_count(1)
    position = int(re.findall(r"token (\d+) of", popover(page).inner_text())[0])
    expect(page.get_by_test_id("replay-position")).to_have_text(re.compile(rf"^{position} /"))
    wait_until(page, lambda: ranges(page, "answer-later") == 1)
    assert findings(page) == []
    page.keyboard.press("Escape")
    expect(popover(page)).to_have_count(0)
    expect(page.get_by_label("Inspector", exact=True)).to_be_visible()
    page.get_by_role("button", name="Skip to the end").click()
    page.wait_for_function("() => CSS.highlights.get('answer-later').size === 0")


def test_the_answer_is_tinted_and_the_browser_remembers_it(page: Page) -> None:
    page.get_by_test_id("glass-toggle").click()
    expect(page.get_by_test_id("glass-legend")).to_be_visible()
    expect(tinted(page).nth(2)).to_be_attached()
    assert findings(page) == []
    page.reload()
    expect(page.get_by_test_id("glass-legend")).to_be_visible(timeout=30_000)
    page.get_by_test_id("glass-toggle").click()
    expect(page.get_by_test_id("glass-legend")).to_have_count(0)
    expect(page.get_by_test_id("glass-tint")).to_have_count(0)


def test_by_keyboard_alone_a_word_is_found_and_another_is_taken_in_its_place(page: Page) -> None:
    before = answer(page).inner_text()
    answer(page).focus()
    # The inspector rests on another word.
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(popover(page)).to_be_visible()
    page.keyboard.press("ArrowDown")
    reached = popover(page).locator(".at .mono").inner_text()
    page.keyboard.press("Enter")
    expect(page.get_by_text("2/2")).to_be_visible()
    wait_until_written(page)
    after = answer(page).inner_text()
    assert after != before
    assert reached.replace("·", " ").strip() in after


def test_a_click_on_another_word_branches_in_the_chat_and_the_inspector_stays_closed(page: Page) -> None:
    if page.get_by_label("Inspector", exact=True).count():
        page.get_by_role("button", name="Close", exact=True).click()
    expect(page.get_by_label("Inspector", exact=True)).to_have_count(0)
    page.mouse.click(*place_of(page, 4))
    other = popover(page).locator("li:not(.chosen, .rest)").get_by_role("button").first
    taken = other.locator(".mono").inner_text().replace("·", " ").strip()
    other.click()
    expect(page.get_by_text("3/3")).to_be_visible()
    wait_until_written(page)
    expect(answer(page)).to_contain_text(taken)
    expect(page.get_by_label("Inspector", exact=True)).to_have_count(0)


def test_other_settings_move_the_bars_and_retell_the_answer(page: Page) -> None:
    page.get_by_role("button", name="Previous branch").click()
    page.get_by_role("button", name="Previous branch").click()
    look_inside(page)
    open_tab(page, "Sampling")
    answer(page).focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    shares = page.get_by_test_id("bar").locator(".number")
    own = shares.first.inner_text()
    page.get_by_test_id("what-if-temperature").fill("1.5")
    page.get_by_test_id("what-if-top_p").fill("1")
    expect(shares.first).not_to_have_text(own)
    expect(page.get_by_test_id("retold")).to_contain_text("At temperature 1.5")
    assert findings(page) == []
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(shares.first).to_have_text(own)
    # A greedy answer is the likeliest one: there is a place where this one leaves it, or none at all.
    page.get_by_test_id("what-if-temperature").fill("1.8")
    go_on = page.get_by_test_id("go-on")
    expect(go_on).to_be_enabled()
    go_on.click()
    expect(page.get_by_text("4/4")).to_be_visible()
    wait_until_written(page)


def test_the_playhead_in_wide_code_scrolls_the_code_and_not_the_chat(page: Page, product: Running) -> None:
    base = product.link.partition("/signin/")[0]
    conversation = post(page, base, "/api/conversations", {})
    params = conversation["params"] | {"regex": "```\n(ab cd ef gh ij ){20}\n```", "max_tokens": 400}
    send = f"/api/conversations/{conversation['id']}/messages"
    post(page, base, send, {"text": "Hello", "params": params | {"stop_on_repetition": False}})
    visit(page, f"{base}/c/{conversation['id']}")
    wait_until_written(page)
    look_inside(page)
    code = answer(page).locator("pre")
    forward = page.get_by_role("button", name=re.compile(r"One \w+ forward"))
    for _ in range(60):
        forward.click()
    wait_until(page, lambda: int(code.evaluate("code => code.scrollLeft")) > 0)
    aside = "() => [...document.querySelectorAll('*')].filter(each => each.scrollLeft && each.tagName !== 'PRE').length"
    assert page.evaluate(aside) == 0
    seen, mark = code.bounding_box(), page.get_by_test_id("playhead-mark").locator("i").bounding_box()
    assert seen is not None and mark is not None
    assert seen["x"] <= mark["x"] < seen["x"] + seen["width"]
