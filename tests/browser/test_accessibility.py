"""No screen has anything that axe-core calls serious or critical: a dozen in light and in dark, the others in light.

The exhibits are looked at in `test_learn`, the desk's pages in the modules that use them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from inference.protocol.codec import decode_frame
from tests.browser.axe import findings, findings_in_both_themes
from tests.browser.panels import each_tab, look_inside, open_tab
from tests.browser.running import ENDLESS, Running, post
from tests.browser.visiting import begin_chat, visit
from tests.golden.test_projections import LOGS
from webapp.traces.file.archive import encode


@pytest.fixture(scope="module")
def base(product: Running) -> str:
    return product.link.partition("/signin/")[0]


@pytest.fixture(scope="module")
def recorded(page: Page, base: str) -> str:
    """The path of a recorded trace's page."""
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    data = as_file("stopped")
    file = {"name": "a.sgtrace", "mimeType": "application/octet-stream", "buffer": data}
    headers = {"X-CSRFToken": token, "Referer": base}
    answer = page.request.post(f"{base}/api/requests/import", headers=headers, multipart={"file": file})
    assert answer.status == 201, answer.text()
    return f"/requests/{answer.json()['requests'][0]['id']}"


@pytest.fixture(scope="module")
def rerun(page: Page, base: str) -> str:
    """The path of a set of runs, of which all have ended."""
    conversation = post(page, base, "/api/conversations", {})["id"]
    message = {"text": "Name one colour.", "params": {"max_tokens": 4}}
    sent = post(page, base, f"/api/conversations/{conversation}/messages", message)["assistant_message"]
    visit(page, f"{base}/requests/{sent['request_id']}")
    expect(page.get_by_role("button", name="Run again")).to_be_visible(timeout=30_000)
    path = f"/reruns/{post(page, base, '/api/requests/' + sent['request_id'] + '/reruns', {})['id']}"
    visit(page, base + path)
    expect(page.get_by_test_id("rerun-state")).to_have_text("all runs have ended", timeout=30_000)
    return path


def as_file(name: str) -> bytes:
    """A golden log as the library imports it."""
    document = json.loads((LOGS[0].parent / f"{name}.json").read_text("utf-8"))
    return encode([decode_frame(json.dumps(frame)) for frame in document["frames"]], document["said"]["summary"])


def in_all_panels(page: Page, shown: Locator) -> dict[str, list[str]]:
    """The findings in each of the inspector's panels that has any."""
    found = {}
    for name in each_tab(page):
        expect(shown).to_have_attribute("aria-labelledby", f"tab-{name}")
        expect(shown).not_to_have_attribute("aria-busy", "true")
        found[name] = findings(page)
    return {name: rows for name, rows in found.items() if rows}


def test_an_empty_chat_and_its_settings(page: Page, base: str) -> None:
    visit(page, f"{base}/")
    expect(page.get_by_role("textbox", name="Message")).to_be_visible(timeout=30_000)
    assert findings_in_both_themes(page) == []
    page.get_by_role("button", name="Settings").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert findings_in_both_themes(page) == []
    page.keyboard.press("Escape")


def test_an_answer_with_the_inspector_open(page: Page, product: Running) -> None:
    begin_chat(page, product, max_tokens=48)
    page.get_by_role("textbox", name="Message").fill("Name one colour.")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("inspector-toggle")).to_be_visible(timeout=30_000)
    look_inside(page)
    expect(page.get_by_role("tab", name="Journey")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0, timeout=60_000)
    assert findings_in_both_themes(page) == []


def test_step_mode_and_its_candidates(page: Page, base: str) -> None:
    visit(page, f"{base}/")
    page.get_by_role("button", name="Step", exact=True).click()
    page.get_by_role("textbox", name="Message").fill("Name one colour.")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("step-candidate").first).to_be_enabled(timeout=30_000)
    assert findings_in_both_themes(page) == []
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_test_id("step-bar")).to_have_count(0, timeout=30_000)


_WATCH_SPOKEN = """() => {
  window.spoken = [];
  const region = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const live = at.getAttribute("aria-live") ?? (/^(status|alert|log)$/.test(at.getAttribute("role")) && "polite");
      if (live) return live === "off" ? null : at;
    }
    return null;
  };
  new MutationObserver((changes) => {
    const changed = changes.map(({target}) => region(target instanceof Element ? target : target.parentElement));
    for (const each of new Set(changed.filter(Boolean))) window.spoken.push(each.textContent.trim());
  }).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""
NUM_TOKENS = 120


@pytest.fixture(scope="module")
def talk(page: Page, base: str) -> str:
    """Address of a conversation of one short answer, whose next ones have many tokens."""
    params = {"temperature": 0.8, "seed": 3, "max_tokens": NUM_TOKENS, **ENDLESS}
    conversation = post(page, base, "/api/conversations", {"params": params})["id"]
    message = {"text": "Name one colour.", "params": params | {"max_tokens": 4}}
    post(page, base, f"/api/conversations/{conversation}/messages", message)
    return f"{base}/c/{conversation}"


def watch_an_answer(page: Page, talk: str, panel: str, *watches: str) -> list[str]:
    """Ask with this panel open, and return what was spoken until the answer was complete."""
    if page.url != talk:
        visit(page, talk)
        expect(page.get_by_role("button", name="Regenerate").first).to_be_attached()
        look_inside(page)
    open_tab(page, panel)
    for watch in (_WATCH_SPOKEN, *watches):
        page.evaluate(watch)
    page.get_by_role("textbox", name="Message").fill("Tell a story of a lighthouse keeper.")
    page.keyboard.press("Enter")
    page.wait_for_function("() => window.spoken.includes('The answer is complete.')", timeout=120_000)
    spoken: list[str] = page.evaluate("() => window.spoken")
    return spoken


def test_an_answer_is_spoken_of_in_sentences_and_not_token_by_token(page: Page, talk: str) -> None:
    spoken = watch_an_answer(page, talk, "Journey")
    assert len(spoken) < NUM_TOKENS / 4, spoken


_WATCH_SHIFTS = """() => {
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      const nodes = entry.sources.map(({node}) => node?.className || node?.nodeName);
      window.shifts.push({value: entry.value, at: entry.startTime, nodes});
    }
  }).observe({type: "layout-shift"});
}"""
MOST_SHIFT = 0.05
_NOTE_GROWTH = """() => {
  window.growsFrom = Infinity;
  const look = () => {
    const answer = document.querySelectorAll("[data-testid=assistant-message]")[1];
    if ((answer?.textContent.length ?? 0) > 20) window.growsFrom = Math.min(window.growsFrom, performance.now());
  };
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""
"""The panel turns to the second answer with its first tokens. That may be late on a slow machine."""


def test_little_shifts_while_an_answer_and_its_tokens_grow(page: Page, base: str) -> None:
    params = {"temperature": 0.8, "seed": 3, "max_tokens": 120}
    visit(page, f"{base}/c/{post(page, base, '/api/conversations', {'params': params})['id']}")
    message = page.get_by_role("textbox", name="Message")
    message.fill("Name one colour.")
    page.keyboard.press("Enter")
    look_inside(page)
    open_tab(page, "Tokens")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0, timeout=60_000)
    page.evaluate(_NOTE_GROWTH)
    page.evaluate(_WATCH_SHIFTS)
    message.fill("Tell me more about the sea.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Regenerate")).to_have_count(2, timeout=60_000)
    assert page.evaluate("() => Number.isFinite(window.growsFrom)")
    shifts = page.evaluate("() => window.shifts.filter(({at}) => at >= window.growsFrom)")
    total = sum(shift["value"] for shift in shifts)
    assert total < MOST_SHIFT, sorted(shifts, key=lambda shift: -shift["value"])[:5]


_WATCH_PANEL = """() => {
  window.moved = [];
  const isMoved = ({previousRect: a, currentRect: b}) => Math.abs(a.y - b.y) > 1 && a.height && b.height;
  new PerformanceObserver((list) => {
    for (const {sources} of list.getEntries().filter((entry) => !entry.hadRecentInput))
      for (const source of sources.filter(isMoved)) {
        const element = source.node instanceof Element ? source.node : source.node?.parentElement;
        const told = [element?.outerHTML.slice(0, 200), source.previousRect.y, source.currentRect.y];
        if (element?.closest("[role=tabpanel]")) window.moved.push(told);
      }
  }).observe({type: "layout-shift"});
}"""


def test_nothing_moves_in_the_sampling_panel_while_an_answer_streams_and_is_spoken_of(page: Page, talk: str) -> None:
    spoken = watch_an_answer(page, talk, "Sampling", _WATCH_PANEL)
    assert len(spoken) < NUM_TOKENS / 4, spoken
    assert page.evaluate("() => window.moved") == []


def test_nothing_shifts_from_one_token_to_the_next(page: Page, base: str) -> None:
    """Each in a frame of its own, as on a slow machine: the first tokens are what all below is built up with."""
    visit(page, f"{base}/")
    message = page.get_by_role("textbox", name="Message")
    page.get_by_role("button", name="Step", exact=True).click()
    message.fill("Tell me more about the sea.")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("step-bar")).to_be_visible(timeout=30_000)
    look_inside(page)
    request = page.evaluate("() => history.state.inspected")
    post(page, base, f"/api/requests/{request}/step", {"position": 0})
    open_tab(page, "Sampling")
    panel = page.get_by_test_id("sampling-panel")
    expect(panel).to_contain_text("token 1 of 1")
    page.evaluate(_WATCH_SHIFTS)
    for position in range(1, 8):
        post(page, base, f"/api/requests/{request}/step", {"position": position})
        expect(panel).to_contain_text(f"token {position + 1} of {position + 1}")
    shifts = page.evaluate("() => window.shifts")
    page.get_by_role("button", name="Stop").click()
    assert sum(shift["value"] for shift in shifts) < MOST_SHIFT, shifts


def test_every_panel_of_a_recorded_request(page: Page, base: str, recorded: str) -> None:
    visit(page, base + recorded)
    expect(page.get_by_role("button", name="Export")).to_be_visible()
    assert in_all_panels(page, page.get_by_role("tabpanel")) == {}


def test_what_opens_over_a_request(page: Page, base: str, recorded: str) -> None:
    visit(page, base + recorded)
    for opener, opened in (
        ("Export", page.get_by_role("list", name="Export as")),
        ("Save picture", page.get_by_role("list", name="Save as a picture")),
        ("Share", page.get_by_role("list", name="Share as")),
    ):
        page.get_by_role("button", name=opener).click()
        expect(opened).to_be_visible()
        assert findings(page) == [], opener
        page.keyboard.press("Escape")
        expect(opened).to_be_hidden()
        expect(page.get_by_role("button", name=opener)).to_be_focused()


def test_the_first_link_leads_past_the_menu_and_keeps_the_address(page: Page, base: str) -> None:
    page.goto(f"{base}/library?q=sea")
    page.get_by_role("heading", level=1).wait_for()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    assert page.url == f"{base}/library?q=sea"


_WIDER = """() => [...document.querySelectorAll("body *")].filter((each) => {
  const {width, right} = each.getBoundingClientRect();
  if (!width || right <= innerWidth + 1) return false;
  for (let at = each.parentElement; at; at = at.parentElement)
    if (getComputedStyle(at).overflowX !== "visible") return false;
  return true;
}).map((each) => `${each.tagName} ${each.className}`)"""


def test_nothing_is_lost_where_a_page_is_enlarged_four_times(page: Page, base: str, recorded: str) -> None:
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": 1280 // 4, "height": 1024 // 4})
    shown = {
        "/": page.get_by_role("textbox", name="Message"),
        recorded: page.get_by_role("button", name="Export"),
        "/library": page.locator(f'a[href="{recorded}"]'),
        "/learn/batching": page.get_by_test_id("batch"),
        "/learn/economics": page.get_by_test_id("economics-told"),
    }
    for path, part in shown.items():
        visit(page, base + path)
        page.get_by_role("heading", level=1).first.wait_for()
        expect(part.first).to_be_visible()
        assert page.evaluate(_WIDER) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280 // 4, path
    page.set_viewport_size(size)


def test_a_conversation_is_printed_whole_and_without_its_controls(page: Page, product: Running) -> None:
    begin_chat(page, product, max_tokens=48)
    page.get_by_role("textbox", name="Message").fill("A long question.\n" * 60)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Regenerate")).to_be_attached(timeout=60_000)
    question, answer = page.get_by_test_id("user-message"), page.get_by_test_id("assistant-message")
    page.emulate_media(media="print")
    expect(page.get_by_role("textbox", name="Message")).to_be_hidden()
    expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
    cut = "(each) => each.scrollHeight > each.clientHeight + 1"
    assert not question.evaluate(cut)
    assert page.evaluate("document.documentElement.scrollHeight") > page.evaluate("innerHeight")
    assert answer.evaluate("(each) => each.getBoundingClientRect().bottom <= document.documentElement.scrollHeight")
    page.emulate_media(media="screen")


def test_the_library(page: Page, base: str, recorded: str) -> None:
    visit(page, f"{base}/library")
    expect(page.locator(f'a[href="{recorded}"]')).to_be_visible()
    assert findings_in_both_themes(page) == []


@pytest.mark.parametrize("path", ["/learn", "/nowhere", "/c/conv_none", "/requests/req_none"])
def test_a_page_by_its_address(page: Page, base: str, path: str) -> None:
    page.goto(base + path)
    page.get_by_role("heading", level=1).first.wait_for()
    page.wait_for_load_state("networkidle")
    assert findings(page) == []


def test_a_set_of_runs_and_two_traces_compared(page: Page, base: str, rerun: str) -> None:
    visit(page, base + rerun)
    compared = page.get_by_role("link", name="Compare with the saved request")
    expect(compared).to_be_visible()
    assert findings(page) == []
    compared.click()
    expect(page.get_by_test_id("main-difference")).to_be_visible()
    expect(page.get_by_test_id("aligned-window")).to_be_visible()
    assert findings_in_both_themes(page) == []


def test_a_shared_trace_without_its_texts(page: Page, base: str, recorded: str) -> None:
    body = {"expires_in_s": 3600, "is_redacted": True}
    link = post(page, base, f"/api/requests/{recorded.rpartition('/')[2]}/shares", body)["path"]
    stranger = page.context.browser.new_page(bypass_csp=True)  # type: ignore[union-attr]
    stranger.goto(base + link)
    expect(stranger.get_by_text("Shared read-only until")).to_be_visible()
    assert findings_in_both_themes(stranger) == []
    stranger.close()


def test_the_pages_outside_the_app(page: Page, base: str) -> None:
    stranger = page.context.browser.new_page()  # type: ignore[union-attr]
    for path in ("/accounts/login/", "/signin/used", "/shared/none", "/no/such/page"):
        stranger.goto(base + path)
        assert findings(stranger) == [], path
    stranger.close()


def test_a_request_that_replays_from_a_file(page: Page, base: str, recorded: str, tmp_path: Path) -> None:
    answer = page.request.get(f"{base}/api/requests/{recorded.rpartition('/')[2]}/export?format=html")
    file = tmp_path / "replay.html"
    file.write_bytes(answer.body())
    alone = page.context.browser.new_page()  # type: ignore[union-attr]
    alone.goto(file.as_uri())
    expect(alone.get_by_role("tabpanel")).to_be_visible()
    assert findings_in_both_themes(alone) == []
    alone.close()


def test_the_sheet_of_keys_comes_by_key_and_gives_the_focus_back(page: Page, base: str) -> None:
    visit(page, f"{base}/library")
    search = page.get_by_role("searchbox", name="Search conversations")
    search.press("?")
    expect(search).to_have_value("?")
    link = page.get_by_role("link", name="Learn")
    link.focus()
    page.keyboard.press("?")
    sheet = page.get_by_test_id("help-sheet")
    expect(sheet).to_be_visible()
    expect(sheet).to_contain_text("Mark this moment, and keep the mark")
    assert findings(page) == []
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    expect(link).to_be_focused()


def test_the_sheet_has_the_keys_of_the_page_first(page: Page, base: str, recorded: str) -> None:
    for path, here, elsewhere in (
        ("/library", "List of traces", "Timelines on one axis"),
        ("/compare", "Timelines on one axis", "List of traces"),
        (recorded, "Blocks", "Step mode"),
    ):
        visit(page, base + path)
        page.get_by_role("link", name="Learn").focus()
        page.keyboard.press("?")
        sheet = page.get_by_test_id("help-sheet")
        expect(sheet.get_by_role("group", name="On this page")).to_contain_text(here)
        expect(sheet.get_by_role("group", name="On other pages")).to_contain_text(elsewhere)
        page.keyboard.press("Escape")


def test_the_timeline_is_searched_and_tells_details_by_keys(page: Page, base: str, recorded: str) -> None:
    page.evaluate("localStorage.setItem('sightglass-timeline', 'open')")
    visit(page, base + recorded)
    plot = page.get_by_test_id("timeline-plot")
    plot.focus()
    page.keyboard.press("/")
    field = page.get_by_role("searchbox", name="Search spans and events")
    expect(field).to_be_focused()
    page.keyboard.type("context assembly")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 of 1")).to_be_visible()
    expect(page.get_by_test_id("timeline-announced")).to_contain_text("context assembly")
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    expect(plot).to_be_focused()
    page.keyboard.press("q")
    expect(page.get_by_test_id("timeline-details")).to_contain_text("context assembly")
    page.keyboard.press("m")
    expect(page.get_by_test_id("timeline-announced")).to_contain_text("Marked at")
    page.keyboard.press("Shift+M")
    expect(page.get_by_test_id("timeline-announced")).to_contain_text("Mark kept at")
    assert findings(page) == []
