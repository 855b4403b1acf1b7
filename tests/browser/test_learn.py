"""The exhibits in a real browser: each is opened, used by its main control, and walks through a request."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.running import Running


@pytest.fixture(scope="module")
def learn(page: Page, product: Running) -> str:
    """Address of the exhibits."""
    return product.link.partition("/signin/")[0] + "/learn"


def test_the_index_leads_to_each_exhibit_and_back(page: Page, learn: str) -> None:
    page.goto(learn)
    links = page.get_by_role("main").get_by_role("list").get_by_role("link")
    for index in range(links.count()):
        title = links.nth(index).locator("strong").inner_text()
        links.nth(index).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        page.get_by_role("link", name="All exhibits").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Learn")
    page.goto(f"{learn}/alchemy")
    expect(page.get_by_role("alert")).to_contain_text("There is no such exhibit")


def test_typed_text_is_cut_by_every_tokenizer(page: Page, learn: str) -> None:
    page.goto(f"{learn}/tokenizer")
    text = page.get_by_test_id("text-to-cut")
    text.fill("strawberry")
    counts = [page.get_by_test_id(f"count-{index}") for index in range(5)]
    for count, num in zip(counts, (3, 1, 8, 10, 10), strict=True):
        expect(count).to_have_text(str(num))
    page.get_by_role("button", name="Special tokens").click()
    expect(page.get_by_test_id("lesson")).to_contain_text("a single token, number 2")
    page.get_by_role("button", name="Languages").click()
    row = page.get_by_role("row").filter(has_text="Hindi")
    expect(row).to_contain_text("26")
    expect(row).to_contain_text("USD")


def test_other_settings_move_the_same_draw(page: Page, learn: str) -> None:
    page.goto(f"{learn}/sampling")
    expect(page.get_by_test_id("drawn")).to_contain_text("as it did")
    page.get_by_test_id("slider-top_k").fill("1")
    expect(page.get_by_test_id("drawn")).to_contain_text("With these settings")
    expect(page.get_by_test_id("chance").nth(1)).to_contain_text("cut")


def test_a_recorded_example_is_walked_through_sentence_by_sentence(page: Page, learn: str) -> None:
    page.goto(f"{learn}/tokenizer")
    own = page.get_by_role("region", name="On your own last request")
    expect(own.get_by_role("heading")).to_have_text("On a recorded example")
    expect(own).to_contain_text("You have no answered request yet")
    current = own.locator("[aria-current=step]")
    expect(current).to_have_text(re.compile("cut the prompt into"))
    current.focus()
    page.keyboard.press("End")
    expect(current).to_have_text(re.compile("of answer"))
    page.keyboard.press("Home")
    own.get_by_test_id("walk-play").click()
    expect(own.get_by_test_id("walk-play")).to_have_text("Pause")
    own.get_by_test_id("walk-play").click()
    expect(own.get_by_test_id("walk-play")).to_have_text("Play")
