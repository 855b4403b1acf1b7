"""The journey in a real browser, on recorded logs, in the page that an export makes of them: it needs no product."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from browser import find_chromium
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from inference.protocol.events import Frame
from webapp.traces.htmlfile import read_page, to_html

LOGS = Path(__file__).parents[1] / "golden" / "logs"
SCENES = ("Message", "Window", "Tokens", "Check", "Queue", "Cache", "Prefill", "Draw", "Release", "Bill")
IDS = ("message", "window", "tokens", "check", "queue", "cache", "prefill", "draw", "stream", "bill")
Opener = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=options)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens a golden log's page, at its Journey or where it opens; each is over with its test, and had no error."""
    contexts = []
    errors: list[str] = []

    def open_log(name: str, width: int = 1360, height: int = 900, tab: str = "Journey", **options: Any) -> Page:
        frames = msgspec.convert(json.loads((LOGS / f"{name}.json").read_text("utf-8"))["frames"], list[Frame])
        path = tmp_path / f"{name}.html"
        path.write_bytes(to_html(read_page(), frames, {"title": name}))
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        if tab == "Journey":
            page.get_by_role("tab", name=tab).click()
            expect(page.get_by_test_id("journey")).to_be_visible()
        return page

    yield open_log
    for context in contexts:
        context.close()
    assert errors == []


def journey(page: Page) -> Locator:
    return page.get_by_test_id("journey")


def play(page: Page) -> Locator:
    return page.get_by_test_id("explain")


def scene(page: Page, title: str) -> Locator:
    path = page.get_by_role("list", name="Scenes")
    return path.get_by_role("button", name=re.compile(f"^{title} "))


def step(page: Page, direction: str = "forward") -> None:
    journey(page).get_by_role("button", name=f"One event {direction}").click()


def shape(page: Page, key: str) -> Locator:
    return journey(page).locator(f'.stage [data-key="{key}"]')


def picture(page: Page) -> str:
    return str(journey(page).locator(".stage svg").inner_html())


def pass_frames(page: Page, num: int) -> None:
    page.evaluate(
        """(num) => new Promise((resolve) => {
            const next = () => (num-- ? requestAnimationFrame(next) : resolve());
            next();
        })""",
        num,
    )


def test_the_inspector_opens_at_what_stands_out_and_each_finding_leads_to_where_it_is_seen(opened: Opener) -> None:
    page = opened("second_turn", tab="Overview")
    expect(page.get_by_role("tab", name="Overview")).to_have_attribute("aria-selected", "true")
    overview = page.get_by_test_id("overview")
    found = overview.get_by_role("listitem")
    expect(found.nth(0)).to_contain_text("Stopped at the length limit (24 tokens)")
    expect(found.nth(1)).to_contain_text("Only 32 of 119 prompt tokens came from the cache. Token 35 is the first")
    for name in ("waited for a worker", "waited in its engine"):
        expect(overview).to_contain_text(name)
    overview.get_by_role("button", name="Show it in Cache").click()
    expect(page.get_by_role("tabpanel", name="Cache")).to_contain_text("a number is another")
    page.go_back()
    expect(found.nth(0)).to_be_visible()
    overview.get_by_test_id("watch").click()
    expect(journey(page)).to_have_attribute("data-scene", "message")
    expect(play(page)).to_have_text("Pause")


def test_an_overview_says_that_nothing_stands_out_and_fits_a_phone(opened: Opener) -> None:
    page = opened("finished", width=390, tab="Overview", reduced_motion="reduce")
    overview = page.get_by_test_id("overview")
    expect(overview).to_contain_text("Nothing unusual: the first text was there 139\xa0ms after it was accepted")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page = opened("remote", width=390, tab="Overview")
    overview = page.get_by_test_id("overview")
    page.get_by_role("button", name="What stands out").click()
    follow = overview.get_by_role("button", name="Show it in Sampling")
    expect(follow).to_be_in_viewport()
    answer = page.get_by_test_id("replay-text").inner_text()
    follow.click()
    expect(page.get_by_test_id("sampling-panel")).to_contain_text("token 1 of 24")
    assert page.get_by_test_id("replay-text").inner_text() == answer
    page.get_by_role("button", name=re.compile("One .* back")).click()
    page.get_by_test_id("as-of").get_by_role("button").click()
    expect(page.get_by_test_id("replay-text")).to_have_text(answer)


def test_each_scene_is_shown_at_its_moment_in_its_own_numbers(opened: Opener) -> None:
    page = opened("finished", reduced_motion="reduce")
    told = {
        "Message": "The gateway took",
        "Window": "41 of 8,192 tokens of the window are the prompt",
        "Tokens": "cut the prompt into 41 tokens",
        "Check": "Safety check passed (1 check, ",
        "Queue": "No request stood in front",
        "Cache": "None of the prompt was in the cache",
        "Prefill": "41 of 41 prompt tokens were computed",
        "Draw": "The model gave “The” 22.9\xa0%",
        "Release": "Safety check passed (",
        "Bill": "49 tokens cost",
    }
    for title, name in zip(SCENES, IDS, strict=True):
        scene(page, title).click()
        expect(journey(page)).to_have_attribute("data-scene", name)
        expect(page.get_by_test_id("journey-caption")).to_contain_text(told[title])
        label = journey(page).locator(".stage svg").get_attribute("aria-label")
        assert label is not None and "undefined" not in label
    expect(scene(page, "Bill")).to_have_attribute("aria-current", "step")
    expect(page.get_by_test_id("journey-announced")).to_contain_text("Bill: 49 tokens cost")


def test_space_explains_a_scene_and_at_its_end_goes_to_the_next(opened: Opener) -> None:
    page = opened("finished")
    stage = page.get_by_role("group", name=re.compile("^Picture of the scene"))
    expect(play(page)).to_have_text("Explain")
    stage.focus()
    page.keyboard.press("Space")
    expect(play(page)).to_have_text("Pause")
    expect(journey(page)).to_have_attribute("data-scene", "message")
    expect(page.get_by_label("Speed")).to_have_value("explain")
    expect(play(page)).to_have_text("Next: Window", timeout=10_000)
    expect(journey(page)).to_contain_text("Paused: this scene has ended. Space goes on to Window.")
    expect(page.get_by_test_id("journey-announced")).to_contain_text("Next: Window")
    page.keyboard.press("Space")
    expect(journey(page)).to_have_attribute("data-scene", "window")
    page.keyboard.press("Space")
    expect(play(page)).to_have_text("Go on")
    page.keyboard.press("Shift+ArrowRight")
    expect(shape(page, "piece-40")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(journey(page)).to_have_attribute("data-scene", "window")


def test_a_token_s_mass_lines_up_and_the_draw_lands_on_it(opened: Opener) -> None:
    page = opened("stopped", reduced_motion="reduce")
    scene(page, "Draw").click()
    expect(page.get_by_test_id("journey-caption")).to_contain_text("“Once”")
    u, first, second = (shape(page, f"draw-{key}").bounding_box() for key in ("u", "part-0", "part-1"))
    assert u is not None and first is not None and second is not None
    assert first["x"] <= u["x"] + u["width"] / 2 <= first["x"] + first["width"]
    assert second["x"] == pytest.approx(first["x"] + first["width"], abs=2)
    assert first["width"] / (first["width"] + second["width"]) == pytest.approx(0.804, abs=0.01)
    expect(shape(page, "draw-row-2-figure")).to_have_text("out")


def test_paused_is_still(opened: Opener) -> None:
    page = opened("finished")
    scene(page, "Draw").click()
    expect(play(page)).to_have_text("Pause")
    before = picture(page)
    page.wait_for_function(
        """(before) => document.querySelector('[data-testid="journey"] .stage svg').innerHTML !== before""", arg=before
    )
    play(page).click()
    expect(play(page)).to_have_text("Go on")
    before = picture(page)
    pass_frames(page, 15)
    assert picture(page) == before
    step(page)
    expect(shape(page, "draw-u-said")).to_have_text("u = 0.3059")
    step(page, "back")
    expect(journey(page)).to_have_attribute("data-scene", "prefill")


def test_with_reduced_motion_nothing_moves_by_itself(opened: Opener) -> None:
    page = opened("finished", reduced_motion="reduce")
    scene(page, "Message").click()
    expect(play(page)).to_have_text("Next step")
    before = picture(page)
    pass_frames(page, 15)
    assert picture(page) == before
    play(page).click()
    expect(journey(page)).to_have_attribute("data-scene", "window")
    still = picture(page)
    pass_frames(page, 15)
    assert picture(page) == still
    expect(play(page)).to_have_text("Next: Tokens")


def test_a_character_waits_in_the_worker_for_its_last_byte(opened: Opener) -> None:
    page = opened("remote", reduced_motion="reduce")
    scene(page, "Draw").click()
    expect(shape(page, "held-bytes-1")).to_have_text("🌟")
    step(page, "back")
    expect(shape(page, "held-bytes-1")).to_have_text("waits")
    expect(shape(page, "held-said")).to_contain_text("a character waits for its last byte")
    expect(shape(page, "sent-said")).to_have_text("At the browser: nothing yet")
    for _ in range(3):
        step(page)
    expect(shape(page, "sent-0-words")).to_have_text("🌟")
    scene(page, "Prefill").click()
    expect(page.get_by_test_id("journey-caption")).to_contain_text("39 of 39")
    expect(scene(page, "Cache")).to_be_disabled()


def test_a_blocked_message_ends_its_journey_at_the_gate(opened: Opener) -> None:
    page = opened("blocked")
    expect(journey(page)).to_have_attribute("data-scene", "check")
    expect(page.get_by_test_id("journey-caption")).to_contain_text("did not reach the model")
    expect(shape(page, "check-said")).to_contain_text("blocked")
    for title in SCENES:
        if title not in ("Message", "Check"):
            expect(scene(page, title)).to_be_disabled()


def test_a_scene_leads_to_its_panel_and_fits_a_phone(opened: Opener) -> None:
    page = opened("finished", width=390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    height = journey(page).bounding_box()
    scene(page, "Draw").click()
    play(page).click()
    box = journey(page).bounding_box()
    assert height is not None and box is not None and box["height"] == pytest.approx(height["height"], abs=1)
    page.get_by_role("button", name="Open the panel Sampling").click()
    expect(page.get_by_role("tab", name="Sampling")).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720), (1920, 1080), (3840, 2160)])
def test_a_scene_is_wholly_in_sight(opened: Opener, width: int, height: int) -> None:
    page = opened("stopped", width=width, height=height, reduced_motion="reduce")
    for title in ("Message", "Draw", "Bill"):
        scene(page, title).click()
        stage = page.get_by_role("group", name=re.compile("^Picture of the scene"))
        expect(stage).to_be_in_viewport(ratio=1)
        box = stage.bounding_box()
        assert box is not None and box["height"] > height * 0.4


def test_the_timeline_folds_with_a_key_and_stays_as_it_was_left(opened: Opener) -> None:
    page = opened("stopped")
    lanes = page.get_by_test_id("timeline-plot")
    expect(lanes).to_have_count(0)
    before = page.get_by_test_id("replay-position").inner_text()
    box = page.get_by_test_id("minimap").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.get_by_test_id("replay-position")).not_to_have_text(before)
    page.keyboard.press("t")
    expect(lanes).to_be_visible()
    lanes.focus()
    page.reload()
    expect(lanes).to_be_visible()
    lanes.focus()
    page.keyboard.press("t")
    expect(lanes).to_have_count(0)
    expect(page.get_by_role("button", name="Timeline")).to_be_focused()
