"""The journey in a real browser, on recorded logs, in the page that an export makes of them: it needs no product."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from playwright.sync_api import Browser, Error, Locator, Page, expect

from inference.protocol.events import Frame
from tests.browser.panels import open_tab
from tests.browser.waiting import wait_until
from webapp.traces.file.htmlfile import read_page, to_html

LOGS = Path(__file__).parents[1] / "golden" / "logs"
SCENES = ("Gateway", "Context", "Tokens", "Safety", "Queue", "Cache", "Prefill", "Sampling", "Release", "Bill")
IDS = ("gateway", "context", "tokens", "safety", "queue", "cache", "prefill", "sampling", "release", "bill")
Opener = Callable[..., Page]
Motion = Literal["reduce", "no-preference"]


@pytest.fixture(scope="module")
def alone(browser: Browser) -> Iterator[Page]:
    """A page that has no network. All tests of the module open their logs in it."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.add_init_script(_WATCH_SCENES)
    yield page
    context.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes the exported page of a golden log, once."""
    folder = tmp_path_factory.mktemp("journey")

    @cache
    def export(name: str) -> Path:
        frames = msgspec.convert(json.loads((LOGS / f"{name}.json").read_text("utf-8"))["frames"], list[Frame])
        path = folder / f"{name}.html"
        path.write_bytes(to_html(read_page(), frames, {"title": name}))
        return path

    return export


@pytest.fixture
def opened(alone: Page, files: Callable[[str], Path]) -> Iterator[Opener]:
    """Opens a golden log's page, at its Journey or where it opens. None had an error, or leaves anything behind."""
    errors: list[str] = []

    def note(error: Error) -> None:
        errors.append(str(error))

    def open_log(
        name: str,
        width: int = 1360,
        height: int = 900,
        tab: str = "Journey",
        is_still: bool = True,
        reduced_motion: Motion = "no-preference",
    ) -> Page:
        alone.set_viewport_size({"width": width, "height": height})
        alone.emulate_media(reduced_motion=reduced_motion)
        alone.goto(files(name).as_uri())
        if tab != "Journey":
            open_tab(alone, tab)
        if is_still and reduced_motion != "reduce":
            alone.get_by_role("button", name=re.compile("^Skip to")).click()
        return alone

    alone.on("pageerror", note)
    yield open_log
    alone.evaluate("() => localStorage.clear()")
    alone.goto("about:blank")
    alone.remove_listener("pageerror", note)
    assert errors == []


_WATCH_SCENES = """
  window.seen = [];
  new MutationObserver(() => {
    const scene = document.querySelector("[data-scene]")?.dataset.scene;
    if (scene && seen.at(-1) !== scene) seen.push(scene);
  }).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ["data-scene"]});
"""
"""Every scene that stood on the page, in order."""


def journey(page: Page) -> Locator:
    return page.get_by_test_id("journey")


def play(page: Page) -> Locator:
    return page.get_by_test_id("replay-play")


def scene(page: Page, title: str) -> Locator:
    path = page.get_by_role("list", name="Scenes")
    return path.get_by_role("button", name=re.compile(f"^{title}"))


def step(page: Page, direction: str = "forward") -> None:
    page.get_by_role("button", name=f"One event {direction}").click()


def shape(page: Page, key: str) -> Locator:
    return journey(page).locator(f'.picture [data-key="{key}"]')


def picture(page: Page) -> str:
    return str(journey(page).locator(".picture svg").inner_html())


def pass_frames(page: Page, num: int) -> None:
    page.evaluate(
        """(num) => new Promise((resolve) => {
            const next = () => (num-- ? requestAnimationFrame(next) : resolve());
            next();
        })""",
        num,
    )


def test_the_exported_page_opens_on_the_playing_journey_and_settles_on_the_closest_call(opened: Opener) -> None:
    page = opened("stopped", is_still=False)
    expect(page.get_by_role("tab", name="Journey")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_test_id("behind")).to_have_count(0, timeout=120_000)
    expect(page.get_by_test_id("journey-caption")).to_contain_text("The closest call")
    expect(journey(page)).to_have_attribute("data-scene", "sampling")
    reached = [name for title, name in zip(SCENES, IDS, strict=True) if scene(page, title).is_enabled()]
    assert len(reached) >= 9
    assert set(page.evaluate("seen")) >= set(reached)


def test_the_findings_lead_to_where_they_are_seen(opened: Opener) -> None:
    page = opened("second_turn", tab="Overview")
    overview = page.get_by_test_id("overview")
    found = overview.get_by_role("listitem")
    expect(found.nth(0)).to_contain_text("The answer reached the length limit (24 tokens)")
    expect(found.nth(1)).to_contain_text("Only 32 of 119 prompt tokens came from the cache. Token 35 is the first")
    for name in ("waited for a worker", "waited in its engine"):
        expect(overview).to_contain_text(name)
    overview.get_by_role("button", name="Show it in Cache").click()
    expect(page.get_by_role("tabpanel", name="Cache")).to_contain_text("a number changed")
    page.go_back()
    expect(found.nth(0)).to_be_visible()
    overview.get_by_test_id("watch").click()
    expect(journey(page)).to_have_attribute("data-scene", "gateway")
    expect(play(page)).to_have_text("Pause")


def test_the_chips_lead_to_the_closest_call_the_oddest_word_and_the_longest_wait(opened: Opener) -> None:
    page = opened("stopped", reduced_motion="reduce")
    chips = page.get_by_test_id("highlights")
    closest = chips.get_by_role("button", name="closest call")
    expect(closest).to_have_attribute("aria-pressed", "true")
    chips.get_by_role("button", name="oddest word").click()
    expect(closest).to_have_attribute("aria-pressed", "false")
    expect(journey(page)).to_have_attribute("data-scene", "sampling")
    # The answer stays whole beside the token that is looked at.
    expect(page.get_by_test_id("as-of")).to_have_count(0)
    chips.get_by_role("button", name="longest wait").click()
    expect(journey(page)).to_have_attribute("data-scene", "prefill")


def test_an_overview_says_that_nothing_stands_out_and_fits_a_phone(opened: Opener) -> None:
    page = opened("finished", width=390, tab="Overview", reduced_motion="reduce")
    overview = page.get_by_test_id("overview")
    expect(overview).to_contain_text("Nothing unusual: the first text came 139\xa0ms after it was accepted")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page = opened("remote", width=390, tab="Overview")
    overview = page.get_by_test_id("overview")
    page.get_by_role("button", name="See inside").click()
    open_tab(page, "Overview")
    expect(overview.get_by_role("button", name="Show it in").first).to_be_in_viewport()


def test_each_scene_is_shown_at_its_moment_in_its_own_numbers(opened: Opener) -> None:
    page = opened("finished", reduced_motion="reduce")
    told = {
        "Gateway": "Signed in and within limits",
        "Context": "the whole prompt takes 41 of 8,192",
        "Tokens": "cut the prompt into 41 tokens",
        "Safety": "The message was allowed (1 check, ",
        "Queue": "No request waited in front",
        "Cache": "Nothing to reuse",
        "Prefill": "The model read all 41 tokens of the prompt",
        "Sampling": "The model gave “The” 22.9\xa0%",
        "Release": "The answer was allowed (",
        "Bill": "49 tokens cost",
    }
    for title, name in zip(SCENES, IDS, strict=True):
        scene(page, title).click()
        expect(journey(page)).to_have_attribute("data-scene", name)
        expect(page.get_by_test_id("journey-caption")).to_contain_text(told[title])
        label = journey(page).locator(".picture svg").get_attribute("aria-label")
        assert label is not None and "undefined" not in label
    expect(scene(page, "Bill")).to_have_attribute("aria-current", "step")
    expect(page.get_by_test_id("journey-announced")).to_contain_text("Bill: 49 tokens cost")


def test_space_plays_in_slow_motion_from_scene_to_scene(opened: Opener) -> None:
    page = opened("finished")
    stage = page.get_by_role("group", name=re.compile("^Picture of the scene"))
    expect(page.get_by_label("Speed")).to_have_value("explain")
    expect(play(page)).to_have_text("Play")
    stage.focus()
    page.keyboard.press("Space")
    expect(play(page)).to_have_text("Pause")
    for name in ("gateway", "context", "tokens"):
        expect(journey(page)).to_have_attribute("data-scene", name, timeout=30_000)
    page.keyboard.press("Space")
    expect(play(page)).to_have_text("Play")
    page.keyboard.press("Shift+ArrowRight")
    expect(journey(page)).to_have_attribute("data-scene", "safety")
    page.keyboard.press("ArrowLeft")
    expect(journey(page)).to_have_attribute("data-scene", "tokens")


def test_a_token_s_mass_lines_up_and_the_draw_lands_on_it(opened: Opener) -> None:
    page = opened("stopped", reduced_motion="reduce")
    scene(page, "Sampling").click()
    expect(page.get_by_test_id("journey-caption")).to_contain_text("“Once”")
    u, first, second = (shape(page, f"draw-{key}").bounding_box() for key in ("u", "part-0", "part-1"))
    assert u is not None and first is not None and second is not None
    assert first["x"] <= u["x"] + u["width"] / 2 <= first["x"] + first["width"]
    assert second["x"] == pytest.approx(first["x"] + first["width"], abs=2)
    assert first["width"] / (first["width"] + second["width"]) == pytest.approx(0.804, abs=0.01)
    expect(shape(page, "draw-row-2-figure")).to_have_text("out")


def test_paused_is_still(opened: Opener) -> None:
    page = opened("finished")
    scene(page, "Sampling").click()
    expect(play(page)).to_have_text("Pause")
    before = picture(page)
    page.wait_for_function(
        """(before) => document.querySelector('[data-testid="journey"] .picture svg').innerHTML !== before""",
        arg=before,
    )
    play(page).click()
    expect(play(page)).to_have_text("Play")
    before = picture(page)
    pass_frames(page, 15)
    assert picture(page) == before
    step(page)
    expect(shape(page, "draw-u-said")).to_have_text("draw 0.3059")
    step(page, "back")
    expect(journey(page)).to_have_attribute("data-scene", "prefill")


def test_with_reduced_motion_nothing_moves_by_itself(opened: Opener) -> None:
    page = opened("finished", reduced_motion="reduce")
    scene(page, "Gateway").click()
    expect(play(page)).to_have_text("Play")
    before = picture(page)
    pass_frames(page, 15)
    assert picture(page) == before
    play(page).click()
    expect(journey(page)).to_have_attribute("data-scene", "context")
    still = picture(page)
    pass_frames(page, 15)
    assert picture(page) == still
    expect(play(page)).to_have_text("Play")


def test_a_character_waits_in_the_worker_for_its_last_byte(opened: Opener) -> None:
    page = opened("remote", reduced_motion="reduce")
    scene(page, "Sampling").click()
    # The scene ends before the first release: the last token of the character makes it whole.
    step(page)
    expect(journey(page)).to_have_attribute("data-scene", "release")
    expect(shape(page, "buffered-said")).to_contain_text("Held in the worker")
    scene(page, "Prefill").click()
    expect(page.get_by_test_id("journey-caption")).to_contain_text("39 tokens")
    expect(scene(page, "Cache")).to_be_disabled()


def test_a_blocked_message_ends_its_journey_at_the_gate(opened: Opener) -> None:
    page = opened("blocked")
    expect(journey(page)).to_have_attribute("data-scene", "safety")
    expect(page.get_by_test_id("journey-caption")).to_contain_text("did not reach the model")
    expect(shape(page, "check-said")).to_contain_text("blocked")
    for title in SCENES:
        if title not in ("Gateway", "Safety"):
            expect(scene(page, title)).to_be_disabled()


def test_a_scene_leads_to_its_panel_and_fits_a_phone(opened: Opener) -> None:
    page = opened("finished", width=390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    scene(page, "Sampling").click()
    play(page).click()
    page.get_by_role("button", name="Open the panel Sampling").click()
    expect(page.get_by_role("tab", name="Sampling")).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720), (1920, 1080), (3840, 2160)])
def test_a_scene_is_wholly_in_sight(opened: Opener, width: int, height: int) -> None:
    page = opened("stopped", width=width, height=height, reduced_motion="reduce")
    for title in ("Gateway", "Sampling", "Bill"):
        scene(page, title).click()
        stage = page.get_by_role("group", name=re.compile("^Picture of the scene"))
        expect(stage).to_be_in_viewport(ratio=1)
        box = stage.bounding_box()
        assert box is not None and box["height"] > height * 0.4


def is_halfway(page: Page) -> bool:
    shown, whole = page.get_by_test_id("replay-position").inner_text().split("·")[0].split("/")
    return abs(int(shown) - int(whole) / 2) <= 1


def test_the_strip_is_the_scrubber(opened: Opener) -> None:
    page = opened("stopped", reduced_motion="reduce")
    box = page.get_by_test_id("scrubber").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 4, box["y"] + box["height"] / 2)
    expect(journey(page)).to_have_attribute("data-scene", "gateway")
    answer = scene(page, "Sampling").bounding_box()
    assert answer is not None
    page.mouse.move(answer["x"] + 4, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(answer["x"] + answer["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    wait_until(page, lambda: is_halfway(page))
    expect(journey(page)).to_have_attribute("data-scene", "sampling")


def test_the_lanes_expand_with_a_key_stay_as_they_were_left_and_are_made_higher(opened: Opener) -> None:
    page = opened("stopped", reduced_motion="reduce")
    lanes = page.get_by_test_id("timeline-plot")
    expect(lanes).to_have_count(0)
    page.keyboard.press("t")
    expect(lanes).to_be_visible()
    edge = page.get_by_role("separator", name="Height of the timeline")
    before = int(edge.get_attribute("aria-valuenow") or 0)
    edge.focus()
    page.keyboard.press("ArrowDown")
    expect(edge).to_have_attribute("aria-valuenow", str(before + 24))
    page.reload()
    expect(lanes).to_be_visible()
    expect(edge).to_have_attribute("aria-valuenow", str(before + 24))
    lanes.focus()
    page.keyboard.press("t")
    expect(lanes).to_have_count(0)
    expect(page.get_by_role("button", name="Timeline")).to_be_focused()
