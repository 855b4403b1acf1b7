"""What one shows to others, in a real browser on the real model: roads, receipt, clip, race and the guessing game."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Download, Page, expect

from tests.browser.running import Running, post
from tests.browser.visiting import visit
from tests.browser.waiting import wait_until

QUESTION = "Name a few things that one finds at the sea."
NUM_ROADS = 8
MOST_BYTES = 3 << 20


@pytest.fixture(scope="module")
def base(product: Running) -> str:
    return product.link.partition("/signin/")[0]


def ask(page: Page, base: str, **params: float) -> str:
    """The id of a request that has ended."""
    conversation = post(page, base, "/api/conversations", {})["id"]
    body = {"text": QUESTION, "params": {"max_tokens": 24, **params}}
    sent = post(page, base, f"/api/conversations/{conversation}/messages", body)
    found = str(sent["assistant_message"]["request_id"])
    visit(page, f"{base}/requests/{found}")
    expect(page.get_by_role("button", name="Run again")).to_be_visible(timeout=60_000)
    return found


@pytest.fixture(scope="module")
def request_id(page: Page, base: str) -> str:
    return ask(page, base, temperature=1.2, top_p=1)


def saved(download: Download, to: Path) -> bytes:
    path = to / download.suggested_filename
    download.save_as(path)
    return path.read_bytes()


def test_eight_more_answers_are_drawn_as_roads_that_part(page: Page, base: str, request_id: str) -> None:
    visit(page, f"{base}/requests/{request_id}")
    page.get_by_test_id("roads").click()
    expect(page.get_by_test_id("rerun-state")).to_have_text("all runs have ended", timeout=90_000)
    roads = page.get_by_test_id("road-map")
    last = roads.get_by_role("link")
    expect(roads.get_by_text("your answer")).to_have_count(1)
    wait_until(page, lambda: 1 < last.count() <= NUM_ROADS + 1)
    last.first.hover()
    expect(page.get_by_test_id("road-told")).to_contain_text(
        re.compile(r"of 9 answers, yours included \(\d+\.\d.%\) continued with")
    )
    last.first.click()
    expect(page).to_have_url(re.compile(r"/requests/req_\w+\?token="))


def test_the_same_roads_are_found_again_and_not_computed_anew(page: Page, base: str, request_id: str) -> None:
    visit(page, f"{base}/requests/{request_id}")
    page.get_by_test_id("roads").click()
    expect(page.get_by_test_id("road-map")).to_be_visible()
    reruns = page.request.get(f"{base}/api/requests/{request_id}/reruns").json()["reruns"]
    assert len(reruns) == 1


def test_an_answer_without_dice_is_offered_roads_at_another_temperature(page: Page, base: str) -> None:
    ask(page, base, temperature=0)
    page.get_by_test_id("roads").click()
    expect(page.get_by_test_id("road-note")).to_contain_text("Your answer has temperature 0")
    expect(page.get_by_test_id("rerun-state")).to_have_text("all runs have ended", timeout=90_000)


def open_share(page: Page, base: str, request_id: str, name: str) -> None:
    visit(page, f"{base}/requests/{request_id}")
    page.get_by_role("button", name="Share").click()
    page.get_by_role("list", name="Share as").get_by_role("button", name=name).click()


def test_a_receipt_is_saved_as_a_picture(page: Page, base: str, request_id: str, tmp_path: Path) -> None:
    open_share(page, base, request_id, "Receipt")
    slip = page.get_by_test_id("receipt")
    expect(slip.get_by_role("img")).to_have_accessible_name(re.compile(r"Prompt: \d+.*Answer: \d+.*Total"))
    with page.expect_download() as download:
        page.get_by_test_id("save-receipt").click()
    picture = saved(download.value, tmp_path)
    assert picture.startswith(b"\x89PNG")
    width, height = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))
    assert height > width


_WITHOUT_ENCODER = "delete window.VideoEncoder"


@pytest.mark.parametrize(
    ("script", "start"), [("true", b"\x1a\x45\xdf\xa3"), (_WITHOUT_ENCODER, b"\x89PNG")], ids=["WebM", "no encoder"]
)
def test_a_clip_is_made_in_the_page(
    page: Page, base: str, request_id: str, tmp_path: Path, script: str, start: bytes
) -> None:
    page.evaluate(script)
    open_share(page, base, request_id, "Clip")
    expect(page.get_by_test_id("save-clip")).to_be_enabled(timeout=120_000)
    with page.expect_download() as download:
        page.get_by_test_id("save-clip").click()
    clip = saved(download.value, tmp_path)
    assert clip.startswith(start)
    assert len(clip) < MOST_BYTES


def test_a_clip_is_cancelled_while_it_is_made(page: Page, base: str, request_id: str) -> None:
    open_share(page, base, request_id, "Clip")
    page.get_by_test_id("clip").get_by_role("button", name="Cancel").click()
    expect(page.get_by_test_id("clip")).to_have_count(0)


def test_two_settings_race_side_by_side(page: Page, base: str, request_id: str) -> None:
    visit(page, f"{base}/race?from={request_id}")
    expect(page.get_by_label("Message")).to_have_value(QUESTION)
    page.get_by_label("Preset of A").select_option("Precise")
    page.get_by_label("Preset of B").select_option("Wild")
    page.get_by_role("button", name="Race").click()
    expect(page.get_by_test_id("race-fork")).to_contain_text("They differ from token", timeout=60_000)
    expect(page.get_by_role("link", name="Compare")).to_be_visible(timeout=120_000)
    told = page.get_by_test_id("lane-told")
    expect(told.nth(0)).to_contain_text("tokens · first text after")
    expect(told.nth(1)).to_contain_text("tokens · first text after")
    places = [lane.get_attribute("data-fork") for lane in page.get_by_test_id("lane").all()]
    assert places[0] == places[1] != ""
    page.get_by_role("link", name="See inside").first.click()
    expect(page).to_have_url(re.compile("/requests/req_"))


def test_each_word_is_guessed_before_it_is_shown(page: Page, base: str) -> None:
    visit(page, base)
    page.get_by_role("button", name="Step", exact=True).click()
    page.get_by_test_id("composer").fill("What is the capital of France?")
    page.get_by_test_id("composer").press("Enter")
    bar = page.get_by_test_id("step-bar")
    bar.get_by_role("button", name="Guess").click()
    expect(page.get_by_test_id("step-candidate")).to_have_count(0)
    expect(bar.get_by_role("button", name=re.compile("^Next"))).to_have_count(0)
    for num, word in enumerate(["The", "elephant"], 1):
        page.get_by_label("Your guess for the next word").fill(word)
        page.get_by_label("Your guess for the next word").press("Enter")
        expect(page.get_by_test_id("guess-told")).to_contain_text("The model took")
        expect(page.get_by_test_id("guess-score")).to_contain_text(re.compile(rf"\d of {num} right.*bits"))
        bar.get_by_role("button", name="Next word").click()
        expect(page.get_by_test_id("guess-told")).to_have_count(0)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(bar).to_have_count(0)
