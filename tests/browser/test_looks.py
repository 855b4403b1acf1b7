"""A few screens look as they did at the last look that was recorded.

They show a recorded log, whose times never change, from an exported file, for which no product has to run. After a
change that is meant: `SIGHTGLASS_RECORD_LOOKS=1 python -m pytest tests/browser/test_looks.py`, look at the pictures
it leaves, and commit what it wrote.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from inference.protocol.codec import decode_frame
from tests.browser.look import Look, difference, look_at, read, write
from tests.browser.panels import open_tab
from tests.browser.running import ROOT
from tests.golden.test_projections import LOGS
from webapp.traces.file.htmlfile import read_page, to_html

IS_RECORDING = bool(os.environ.get("SIGHTGLASS_RECORD_LOOKS"))
FONTS = {"Inter Variable": "inter", "JetBrains Mono Variable": "jetbrains-mono"}
"""The product's own, without which the exported page would take the machine's."""
_ADD_FONT = """([name, source]) => {
  const face = new FontFace(name, `url(data:font/woff2;base64,${source})`, {weight: "100 900"});
  document.fonts.add(face);
  return face.load();
}"""
WIDTHS = {"wide": 1360, "narrow": 390}
PARTS = {"timeline": '[data-testid="timeline"]', "bill": '[role="tabpanel"]'}


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported page of a golden log."""
    document = json.loads((LOGS[0].parent / "stopped.json").read_text("utf-8"))
    frames = [decode_frame(json.dumps(frame)) for frame in document["frames"]]
    file = tmp_path_factory.mktemp("look") / "replay.html"
    file.write_bytes(to_html(read_page(), frames, {"title": "A long story"}))
    return file


def font_file(name: str) -> str:
    """As base64."""
    path = ROOT / f"frontend/node_modules/@fontsource-variable/{name}/files/{name}-latin-wght-normal.woff2"
    return base64.b64encode(path.read_bytes()).decode()


@pytest.fixture(
    scope="module", params=[(width, scheme) for width in WIDTHS for scheme in ("light", "dark")], ids="-".join
)
def setting(request: pytest.FixtureRequest) -> tuple[str, str]:
    width, scheme = request.param
    return width, scheme


@pytest.fixture(scope="module")
def page(browser: Browser, replay: Path, setting: tuple[str, str]) -> Iterator[Page]:
    width, scheme = setting
    viewport: ViewportSize = {"width": WIDTHS[width], "height": 900}
    page = browser.new_page(
        viewport=viewport,
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
        bypass_csp=True,
    )
    page.add_init_script("localStorage.setItem('sightglass-timeline', 'open')")
    page.goto(replay.as_uri())
    for font in FONTS.items():
        page.evaluate(_ADD_FONT, [font[0], font_file(font[1])])
    # Drawn text is measured once: a new width has all of it measured and drawn again.
    page.set_viewport_size({"width": WIDTHS[width] + 40, "height": 900})
    page.set_viewport_size(viewport)
    open_tab(page, "Bill")
    expect(page.get_by_role("tabpanel")).to_contain_text("Total")
    page.evaluate("() => document.fonts.ready")
    yield page
    page.close()


@pytest.mark.parametrize("part", PARTS)
def test_a_part_looks_as_it_did(page: Page, setting: tuple[str, str], part: str, tmp_path: Path) -> None:
    name = "-".join((part, *setting))
    look, picture = look_at(page.locator(PARTS[part]))
    (tmp_path / f"{name}.png").write_bytes(picture)
    if IS_RECORDING:
        write(name, look)
    kept = read(name)
    assert kept is not None, "nothing is recorded: see above how that is done"
    assert difference(kept, look) == "", f"see {tmp_path}"


def test_a_change_is_seen_and_a_machines_own_rasterisation_is_not() -> None:
    kept = read("timeline-wide-light")
    assert kept is not None
    faint = [bytes(min(255, value + 9) for value in bytes.fromhex(row)).hex() for row in kept.rows]
    assert difference(kept, replace(kept, rows=faint)) == ""
    moved = [*kept.rows[2:], *kept.rows[:2]]
    assert "areas look different" in difference(kept, replace(kept, rows=moved))
    assert "px" in difference(kept, Look(kept.width, kept.height + 26, kept.rows))
