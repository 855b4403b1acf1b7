"""The timeline in a real browser, on a trace that is always the same: wheel, drag, pinch, keys and what they say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from benchmarks.synthetic_trace import trace_file
from tests.browser.panels import open_tab
from tests.browser.running import Running
from tests.browser.visiting import visit
from tests.browser.waiting import wait_until

NUM_TOKENS = 120
AXIS_PX, ROW_PX = 24, 26
QUEUE_ROW, DECODE_ROW = 6, 8
OPEN_LANES = """localStorage.setItem('sightglass-timeline', 'open');
localStorage.setItem('sightglass-timeline-height', '560');"""
"""High enough for all rows."""


@pytest.fixture(scope="module")
def address(page: Page, product: Running) -> str:
    """Of the imported trace's page."""
    base = product.link.partition("/signin/")[0]
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    file = {"name": "a.sgtrace", "mimeType": "application/octet-stream", "buffer": trace_file(NUM_TOKENS)}
    headers = {"X-CSRFToken": token, "Referer": base}
    answer = page.request.post(f"{base}/api/requests/import", headers=headers, multipart={"file": file})
    assert answer.status == 201, answer.text()
    visit(page, f"{base}/library")
    return f"{base}/requests/{answer.json()['requests'][0]['id']}"


@pytest.fixture
def plot(page: Page, address: str) -> Iterator[Locator]:
    page.evaluate(OPEN_LANES)
    visit(page, address)
    expect(page.get_by_test_id("replay-position")).to_contain_text(f"/ {NUM_TOKENS}")
    expect(page.get_by_role("button", name="Export")).to_be_visible()
    yield page.get_by_test_id("timeline-plot")


def us(text: str) -> float:
    number, unit = text.replace(",", "").replace("−", "-").split()
    return float(number) * {"µs": 1, "ms": 1e3, "s": 1e6}[unit]


def window(page: Page) -> tuple[float, float]:
    """What is shown, µs since acceptance."""
    start, end = page.get_by_test_id("timeline-window").inner_text().replace("\xa0", " ").split(" to ")
    return us(start), us(end)


def shown(page: Page) -> float:
    start, end = window(page)
    return end - start


def after(page: Page, act: Callable[[], object]) -> tuple[float, float]:
    """What is shown when the window has come to rest where the act sent it."""
    before = page.get_by_test_id("timeline-window").inner_text()
    act()
    expect(page.get_by_test_id("timeline-window")).not_to_have_text(before)
    page.evaluate("""() => new Promise((resolve) => {
        const text = () => document.querySelector('[data-testid="timeline-window"]').textContent;
        let [last, numSame] = [text(), 0];
        const look = () => {
            numSame = text() === last ? numSame + 1 : 0;
            last = text();
            if (numSame > 3) resolve();
            else requestAnimationFrame(look);
        };
        look();
    })""")
    return window(page)


def announced(page: Page) -> Locator:
    return page.get_by_test_id("timeline-announced")


def put_pointer(page: Page, plot: Locator, share: float, y: float) -> tuple[float, float]:
    box = plot.bounding_box()
    assert box is not None
    place = (box["x"] + box["width"] * share, box["y"] + y)
    page.mouse.move(*place)
    return place


def test_the_wheel_zooms_about_the_pointer_pans_and_leaves_the_rest_to_the_page(page: Page, plot: Locator) -> None:
    start, end = window(page)
    put_pointer(page, plot, 0.5, 100)
    page.keyboard.down("Control")
    for _ in range(4):
        near = after(page, lambda: page.mouse.wheel(0, -100))
    page.keyboard.up("Control")
    assert near[1] - near[0] < (end - start) / 3
    assert sum(near) / 2 == pytest.approx((start + end) / 2, rel=0.05)
    assert after(page, lambda: page.mouse.wheel(0, 120))[0] > near[0]

    after(page, page.get_by_role("button", name="Fit").click)
    assert window(page) == (start, end)
    put_pointer(page, plot, 0.5, 100)
    page.mouse.wheel(0, 120)
    assert window(page) == (start, end)


def test_a_drag_pans_and_a_drag_on_the_axis_scrubs_every_panel(page: Page, plot: Locator) -> None:
    plot.focus()
    near = after(page, lambda: page.keyboard.press("w"))
    x, y = put_pointer(page, plot, 0.6, 120)
    page.mouse.down()
    moved = after(page, lambda: page.mouse.move(x - 100, y, steps=5))
    page.mouse.up()
    assert moved[0] > near[0]

    after(page, lambda: page.keyboard.press("0"))
    x, y = put_pointer(page, plot, 0.4, 10)
    page.mouse.down()
    page.mouse.move(x + 100, y, steps=5)
    page.mouse.up()
    expect(page.get_by_test_id("replay-position")).not_to_contain_text(f"{NUM_TOKENS} / ")
    open_tab(page, "Tokens")
    position, tokens = page.get_by_test_id("replay-position"), page.get_by_test_id("token")
    wait_until(page, lambda: tokens.count() == int(position.inner_text().split("/")[0]))
    page.get_by_role("button", name="Skip to the end").click()
    expect(page.get_by_test_id("replay-position")).to_contain_text(f"{NUM_TOKENS} / {NUM_TOKENS}")


def test_each_span_is_reached_and_told_by_keys_alone(page: Page, plot: Locator) -> None:
    plot.focus()
    for heard in (
        "Browser: key press to send, at −9.0 ms, lasted 3.0 ms",
        "Browser: POST and its reply, at −6.0 ms, lasted 9.0 ms",
        "Gateway: sign-in, limits, records, at −2.6 ms, lasted 4.0 ms",
        "Safety: check of the message, at 1.4 ms, lasted 2.1 ms",
    ):
        page.keyboard.press(".")
        expect(announced(page)).to_have_text(heard)
    page.keyboard.press(",")
    expect(announced(page)).to_contain_text("Gateway: sign-in")
    for _ in range(7):
        page.keyboard.press("ArrowDown")
    expect(announced(page)).to_contain_text("Release")
    page.keyboard.press("ArrowUp")
    expect(announced(page)).to_contain_text("Sampling")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    expect(announced(page)).to_have_text(re.compile(r"^Sampling: .*, at [\d.]+"))

    start, end = window(page)
    near = after(page, lambda: page.keyboard.press("f"))
    expect(announced(page)).to_contain_text("Closer")
    assert near[1] - near[0] < (end - start) / 20
    assert after(page, lambda: page.keyboard.press("f")) == (start, end)
    expect(announced(page)).to_have_text("The whole request.")


def test_keys_mark_zoom_and_move(page: Page, plot: Locator) -> None:
    plot.focus()
    page.keyboard.press(".")
    page.keyboard.press("m")
    expect(announced(page)).to_have_text(re.compile(r"Marked at −9.0.ms"))
    page.keyboard.press("Escape")
    expect(announced(page)).to_have_text("Cleared.")
    for key, sign in (("w", -1), ("w", -1), ("s", 1), ("w", -1)):
        before = shown(page)
        start, end = after(page, lambda key=key: page.keyboard.press(key))  # type: ignore[misc]
        assert (end - start - before) * sign > 0
    right = after(page, lambda: page.keyboard.press("ArrowRight"))
    assert right[0] > start
    back = after(page, lambda: page.keyboard.press("a"))
    assert back[0] == pytest.approx(start, abs=2e4)


def test_enter_and_click_open_the_span_s_panel_and_pointing_tells_of_it(page: Page, plot: Locator) -> None:
    put_pointer(page, plot, 0.99, AXIS_PX + ROW_PX * DECODE_ROW + 9)
    note = page.get_by_test_id("timeline-note")
    expect(note).to_contain_text(re.compile(r"Sampling\s+token \d+"))
    expect(note).to_contain_text("of the wait")
    expect(note).to_contain_text("zoom in to separate them")
    x, y = put_pointer(page, plot, 0.99, AXIS_PX + ROW_PX * DECODE_ROW + 9)
    page.mouse.click(x, y)
    expect(page.get_by_role("tab", name="Sampling")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    page.keyboard.press(".")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Timing")).to_have_attribute("aria-selected", "true")


def test_idle_time_is_compressed_on_offer(page: Page, plot: Locator) -> None:
    offer = page.get_by_role("button", name="compress?")
    expect(offer).to_contain_text(re.compile(r"1\d\.\d+\ss, \d\d\.\d\s% idle"))
    offer.click()
    expect(page.get_by_role("button", name="show it in full")).to_have_attribute("aria-pressed", "true")
    # The second half of the axis is now where the tokens are.
    put_pointer(page, plot, 0.75, AXIS_PX + ROW_PX * DECODE_ROW + 9)
    expect(page.get_by_test_id("timeline-note")).to_contain_text("token")


def test_the_parts_of_the_first_text_add_up(page: Page, plot: Locator) -> None:
    first = page.get_by_test_id("first-text")
    first.locator("summary").click()
    expect(first.locator(".sum .number")).to_be_visible()
    parts = [us(text.replace("\xa0", " ")) for text in first.locator("li button .number").all_inner_texts()]
    total = us(first.locator(".sum .number").inner_text().replace("\xa0", " "))
    assert len(parts) > 5
    assert sum(parts) == pytest.approx(total, abs=1e-6)
    assert us(first.locator("summary b").inner_text().replace("\xa0", " ")) == total
    expect(first).to_contain_text("Between stages")


@pytest.fixture(scope="module")
def phone(page: Page) -> Iterator[Page]:
    """A page that is touched."""
    browser = page.context.browser
    assert browser is not None
    state = page.context.storage_state()
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, storage_state=state
    )
    yield context.new_page()
    context.close()


def test_two_fingers_zoom_one_pans_and_one_tap_tells(phone: Page, address: str) -> None:
    visit(phone, address)
    phone.evaluate(OPEN_LANES)
    visit(phone, address)
    plot = phone.get_by_test_id("timeline-plot")
    expect(phone.get_by_role("button", name="Export")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") == 360
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + AXIS_PX + 44 * QUEUE_ROW + 34
    touch = phone.context.new_cdp_session(phone)

    def fingers(kind: str, *places: float) -> None:
        points = [{"x": place, "y": y, "id": index} for index, place in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    whole = shown(phone)
    fingers("touchStart", x - 20, x + 20)
    for apart in range(30, 110, 10):
        fingers("touchMove", x - apart, x + apart)
    fingers("touchEnd")
    assert shown(phone) < whole / 3
    phone.touchscreen.tap(x, y)
    expect(phone.get_by_test_id("timeline-note")).to_contain_text("waiting in the engine")
    start = window(phone)[0]
    fingers("touchStart", x)
    for moved in range(10, 90, 10):
        fingers("touchMove", x - moved)
    fingers("touchEnd")
    assert window(phone)[0] > start
    fit = phone.get_by_role("button", name="Fit")
    fit.scroll_into_view_if_needed()
    place = fit.bounding_box()
    assert place is not None
    phone.touchscreen.tap(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    expect(fit).to_have_attribute("aria-disabled", "true")
    assert shown(phone) == whole
    phone.evaluate("() => localStorage.clear()")


def test_a_tap_looks_at_a_token_and_explains_a_label(phone: Page, address: str) -> None:
    visit(phone, f"{address}?panel=Tokens")
    phone.get_by_test_id("token").nth(3).tap()
    panel = phone.get_by_test_id("sampling-panel")
    expect(panel).to_contain_text(f"token 4 of {NUM_TOKENS}")
    panel.get_by_role("button", name="the draw", exact=True).tap()
    expect(phone.get_by_role("link", name="See how it works").locator("visible=true")).to_have_count(1)


_SMALL = """(least) => [...document.querySelectorAll("button:not(.term), select, input, a.button, a.quiet, [role=tab]")]
  .filter((each) => each.checkVisibility({visibilityProperty: true}) && !each.closest(".visually-hidden"))
  .map((each) => [each.ariaLabel || each.textContent || each.type, each.getBoundingClientRect()])
  .filter(([, {width, height}]) => width > 1 && Math.min(width, height) < least)
  .map(([name, {width, height}]) => `${name.trim()}: ${width} by ${height}`)"""


@pytest.mark.parametrize("panel", ["Journey", "Timing", "Network"])
def test_a_finger_hits_what_can_be_pressed(phone: Page, address: str, panel: str) -> None:
    visit(phone, f"{address}?panel={panel}")
    expect(phone.get_by_role("tab", name=panel)).to_have_attribute("aria-selected", "true")
    for name in ("Play", "One event back", "One event forward"):
        box = phone.get_by_role("button", name=name, exact=True).bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 40
    assert phone.evaluate(_SMALL, 24) == []
    assert phone.evaluate("document.documentElement.scrollWidth") == 360


def test_an_address_leads_to_a_token_or_a_moment_and_follows_what_is_shown(page: Page, address: str) -> None:
    visit(page, f"{address}?token=12&panel=Sampling")
    expect(page.get_by_role("tab", name="Sampling")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_test_id("sampling-panel")).to_contain_text(f"token 12 of {NUM_TOKENS}")
    expect(page.get_by_test_id("replay-position")).to_contain_text(f"12 / {NUM_TOKENS}")
    num_pages = page.evaluate("() => history.length")
    page.get_by_role("button", name="Next token").click()
    open_tab(page, "Timing")
    page.wait_for_url("**?token=13&panel=Timing")
    page.get_by_role("button", name="Skip to the end").click()
    page.wait_for_url("**?panel=Timing")
    assert page.evaluate("() => history.length") == num_pages
    visit(page, f"{address}?t=9000000")
    expect(page.get_by_test_id("replay-position")).to_contain_text(re.compile(rf"\b0 / {NUM_TOKENS} · 9"))
