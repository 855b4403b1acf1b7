"""The menu of exports in a real browser, and the web page among them, which needs no server."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Locator, Page, expect

from benchmarks.synthetic_trace import trace_file
from tests.browser.panels import each_tab, open_tab
from tests.browser.running import Running
from tests.browser.visiting import visit

NUM_TOKENS = 40


@pytest.fixture(scope="module")
def library(page: Page, product: Running) -> str:
    """Address of the library, which holds one trace."""
    base = product.link.partition("/signin/")[0]
    visit(page, f"{base}/library")
    file = {"name": "a.sgtrace", "mimeType": "application/octet-stream", "buffer": trace_file(NUM_TOKENS)}
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_role("button", name="Export")).to_be_visible(timeout=30_000)
    return f"{base}/library"


def test_the_menu_is_used_by_keys_alone(page: Page, library: str) -> None:
    visit(page, library)
    button = page.get_by_role("button", name="Export")
    menu = page.get_by_role("list", name="Export as")
    button.focus()
    page.keyboard.press("Enter")
    expect(menu.get_by_role("link").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(menu.get_by_role("link", name="JSON every event")).to_be_focused()
    page.keyboard.press("End")
    expect(menu.get_by_role("link").last).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()


def download(page: Page, library: str, name: str, to: Path) -> Path:
    visit(page, library)
    page.get_by_role("button", name="Export").first.click()
    with page.expect_download() as download:
        page.get_by_role("list", name="Export as").get_by_role("link", name=name).click()
    path = to / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_the_web_page_replays_and_asks_for_nothing(page: Page, library: str, tmp_path: Path) -> None:
    path = download(page, library, "Web page", tmp_path)
    context = page.context.browser.new_context(offline=True)  # type: ignore[union-attr]
    alone = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    alone.on("request", lambda request: asked.append(request.url))
    alone.on("console", lambda message: said.append(message.text))
    alone.on("pageerror", lambda error: said.append(str(error)))
    alone.goto(path.as_uri())
    position = alone.get_by_test_id("replay-position")
    alone.get_by_role("button", name="Skip to the end").click()
    shown = []
    for name in each_tab(alone):
        expect(alone.get_by_role("tabpanel")).not_to_be_empty()
        shown.append(name)
    assert "Sampling" in shown
    assert "Layers" not in shown
    alone.get_by_role("button", name="Skip to the end").click()
    alone.get_by_label("Speed").select_option("1")
    alone.get_by_role("button", name="One token back").click()
    expect(position).to_contain_text(f"{NUM_TOKENS - 1} / {NUM_TOKENS}")
    assert (asked, said) == ([path.as_uri()], [])
    context.close()


def test_the_web_page_opens_in_a_frame_that_may_keep_nothing(page: Page, library: str, tmp_path: Path) -> None:
    path = download(page, library, "Web page", tmp_path)
    around = tmp_path / "around.html"
    around.write_text(f'<iframe sandbox="allow-scripts" src="{path.as_uri()}" width="1200" height="800"></iframe>')
    context = page.context.browser.new_context(offline=True)  # type: ignore[union-attr]
    alone = context.new_page()
    said: list[str] = []
    alone.on("pageerror", lambda error: said.append(str(error)))
    alone.goto(around.as_uri())
    inside = alone.frame_locator("iframe")
    expect(inside.get_by_test_id("replay-position")).to_contain_text(f" / {NUM_TOKENS}")
    collapse = inside.get_by_role("button", name="Timeline", exact=True)
    is_open = collapse.get_attribute("aria-expanded")
    collapse.click()
    expect(collapse).not_to_have_attribute("aria-expanded", is_open or "")
    assert said == []
    context.close()


def test_a_json_trace_is_imported_on_the_library_page(page: Page, library: str, tmp_path: Path) -> None:
    path = download(page, library, "JSON every event", tmp_path)
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("button", name="Export")).to_have_count(0)
    page.locator("input[type=file]").set_input_files(path)
    expect(page.get_by_role("status").filter(has_text="Imported")).to_be_visible()
    expect(page.get_by_role("button", name="Export")).to_have_count(1)


_LOOK = """async (png) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  const ctx = canvas.getContext("2d");
  ctx.drawImage(image, 0, 0);
  const { data } = ctx.getImageData(0, 0, canvas.width, canvas.height);
  const light = Array.from({ length: data.length / 4 }, (_, at) => data[4 * at + 1]);
  const mean = light.reduce((sum, value) => sum + value, 0) / light.length;
  return {
    width: image.width,
    height: image.height,
    variance: light.reduce((sum, value) => sum + (value - mean) ** 2, 0) / light.length,
  };
}"""


def save_picture(page: Page, name: str, to: Path) -> bytes:
    page.get_by_role("button", name="Save picture").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    path = to / download.value.suggested_filename
    download.value.save_as(path)
    return path.read_bytes()


def open_bill(page: Page) -> Locator:
    open_tab(page, "Bill")
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("Total")
    page.evaluate("() => document.fonts.ready")
    return panel


def check_pictures(page: Page, to: Path) -> str:
    """Both kinds of the open panel's picture and the timeline's; returns the panel's SVG."""
    panel = open_bill(page)
    svg = save_picture(page, "Bill as SVG", to).decode()
    root = ElementTree.fromstring(svg)
    said = "".join("".join(root.itertext()).split())
    assert all("".join(line.split()) in said for line in panel.inner_text().splitlines())
    assert "UTC" in said
    width, height = int(root.attrib["width"]), int(root.attrib["height"])
    for part in ("Bill", "Timeline"):
        png = save_picture(page, f"{part} as PNG", to)
        look = page.evaluate(_LOOK, base64.b64encode(png).decode())
        assert look["variance"] > 50
        if part == "Bill":
            assert (look["width"], look["height"]) == (2 * width, 2 * height)
    return svg


def test_a_panel_is_saved_as_a_picture_with_its_fonts(page: Page, library: str, tmp_path: Path) -> None:
    visit(page, library)
    page.locator("a[href^='/requests/']").first.click()
    assert "data:font/woff2" in check_pictures(page, tmp_path)


def test_a_panel_is_saved_as_a_picture_with_no_server(page: Page, library: str, tmp_path: Path) -> None:
    path = download(page, library, "Web page", tmp_path)
    context = page.context.browser.new_context(offline=True, color_scheme="dark")  # type: ignore[union-attr]
    alone = context.new_page()
    said: list[str] = []
    alone.on("console", lambda message: said.append(message.text))
    alone.goto(path.as_uri())
    alone.get_by_role("button", name="Skip to the end").click()
    check_pictures(alone, tmp_path)
    assert said == []
    context.close()


def test_a_request_is_printed_as_its_text_timeline_and_open_panel(page: Page, library: str) -> None:
    visit(page, library)
    page.locator("a[href^='/requests/']").first.click()
    open_bill(page)
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
    expect(page.get_by_role("slider")).to_be_hidden()
    expect(page.get_by_role("tab")).to_have_count(1)
    for name in ("scene-strip", "replay-text"):
        expect(page.get_by_test_id(name)).to_be_visible()
    boxes = "[...document.querySelectorAll('main, .content, article')]"
    assert page.evaluate(f"{boxes}.filter((at) => at.scrollHeight > at.clientHeight).length") == 0
    page.emulate_media(media="screen")


def test_a_collapsed_timeline_is_saved_and_printed_whole(page: Page, library: str, tmp_path: Path) -> None:
    visit(page, library)
    page.locator("a[href^='/requests/']").first.click()
    open_bill(page)
    collapse = page.get_by_role("button", name="Timeline", exact=True)
    if collapse.get_attribute("aria-expanded") == "true":
        collapse.click()
    expect(collapse).to_have_attribute("aria-expanded", "false")
    root = ElementTree.fromstring(save_picture(page, "Timeline as SVG", tmp_path))
    assert "You waited for" in "".join(root.itertext())
    lanes = root.findall(".//{http://www.w3.org/1999/xhtml}img")
    assert max(int(re.findall(r"height: ?(\d+)px", lane.attrib["style"])[-1]) for lane in lanes) > 200
    png = save_picture(page, "Timeline as PNG", tmp_path)
    assert page.evaluate(_LOOK, base64.b64encode(png).decode())["height"] > 400
    expect(collapse).to_have_attribute("aria-expanded", "false")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    expect(collapse).to_have_attribute("aria-expanded", "true")
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    expect(collapse).to_have_attribute("aria-expanded", "false")
