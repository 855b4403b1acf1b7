"""What will be sent, in the running product: told before it is sent, and so it is sent then."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import findings
from tests.browser.running import Running

COMPRESSED = {"br", "gzip", "zstd"}
MOST_SCRIPT_BYTES = 170_000
_SCRIPTS = """() => performance.getEntriesByType("resource")
  .filter(({name}) => new URL(name).pathname.endsWith(".js")).map(({encodedBodySize}) => encodedBodySize)"""


@pytest.fixture
def base(product: Running) -> Iterator[str]:
    yield product.link.partition("/signin")[0]


def ask(page: Page, text: str) -> None:
    """Send a message and wait for the end of its answer."""
    answers = page.get_by_test_id("assistant-message")
    num = answers.count()
    page.get_by_test_id("composer").fill(text)
    page.keyboard.press("Enter")
    expect(answers).to_have_count(num + 1, timeout=30_000)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0, timeout=60_000)


def open_card(page: Page) -> Locator:
    page.get_by_role("button", name="What will be sent").click()
    card = page.get_by_test_id("next-request")
    expect(card.locator("tbody tr").first).to_be_visible(timeout=30_000)
    return card


def open_card_that_knows_the_cache(page: Page) -> Locator:
    """A worker under load may not tell in time what is cached: the card then says so, and is asked again."""
    for _ in range(60):
        card = open_card(page)
        if "Unknown: no worker reports it." not in card.inner_text():
            break
        page.keyboard.press("Escape")
    return card


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found is not None, (pattern, text)
    return int(found[1].replace(",", ""))


def test_what_is_told_is_what_is_sent_and_found_in_the_cache(page: Page, base: str) -> None:
    page.goto(f"{base}/")
    for text in ("Name three colours of the sea, each in a sentence of its own.", "And of the sky?"):
        ask(page, text)
    page.get_by_test_id("composer").fill("Tell me more about the second one.")
    told = open_card_that_knows_the_cache(page).inner_text()
    num_prompt = number(r"([\d,]+) of 8,192 tokens", told)
    num_cached = number(r"([\d,]+) of [\d,]+ tokens are in the cache", told)
    assert 0 < num_cached < num_prompt
    assert findings(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("next-request")).to_have_count(0)
    expect(page.get_by_role("button", name="What will be sent")).to_be_focused()
    with page.expect_response(re.compile(r"/messages$")) as sent:
        page.get_by_test_id("composer").press("Enter")
    request = sent.value.json()["assistant_message"]["request_id"]
    expect(page.get_by_role("button", name="Stop")).to_have_count(0, timeout=60_000)
    usage = page.request.get(f"{base}/api/requests/{request}").json()["usage"]
    num_read = sum(usage[kind] for kind in ("uncached_input", "cache_read", "cache_write_5m"))
    assert (num_read, usage["cache_read"]) == (num_prompt, num_cached)


def test_it_follows_the_draft_and_is_opened_by_keys(page: Page, base: str) -> None:
    page.goto(f"{base}/")
    composer = page.get_by_test_id("composer")
    composer.fill("Hello.")
    page.get_by_role("button", name="What will be sent").focus()
    page.keyboard.press("Enter")
    card = page.get_by_test_id("next-request")
    row = card.get_by_role("row", name="Your message")
    expect(row).to_contain_text("Your message", timeout=30_000)
    before = row.inner_text()
    composer.fill("Hello, and tell me about the sea, the wind and the stars.")
    expect(row).not_to_have_text(before, timeout=30_000)
    composer.fill("")
    expect(card).to_contain_text("Write a message")
    composer.fill("word " * 20_000)
    expect(card).to_contain_text("Shorten the message", timeout=30_000)
    page.keyboard.press("Escape")
    composer.fill("")


def test_the_first_load_is_compressed_small_and_kept(page: Page, base: str) -> None:
    sent: dict[str, dict[str, str]] = {}
    page.on("response", lambda response: sent.update({response.url: response.headers}))
    page.goto(f"{base}/")
    page.get_by_test_id("composer").wait_for()
    page.wait_for_load_state("networkidle")
    files = {url: headers for url, headers in sent.items() if re.search(r"/static/app/.*\.(js|css)$", url)}
    assert files and all("immutable" in headers["cache-control"] for headers in files.values())
    long = [headers for headers in files.values() if int(headers["content-length"]) > 1000]
    assert long and all(headers.get("content-encoding") in COMPRESSED for headers in long)
    assert 0 < sum(page.evaluate(_SCRIPTS)) <= MOST_SCRIPT_BYTES
