"""How quickly the inspector opens a long trace and how smoothly it moves on it, in headless Chromium.

Starts the product as `make up` does, imports a log of 4,000 tokens and more than 20,000 events, opens it from the
library, then scrubs, zooms and pans on the timeline, and drags the temperature under a draw. A frame's time is the
distance between two animation frames: 16.7 ms is the most that 60 Hz allows. Also the size of the script that the first
page loads.

    python -m benchmarks.glass
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from benchmarks.product import signed_in
from benchmarks.rows import write
from benchmarks.synthetic_trace import NUM_TOKENS, trace_file

PORT = "8766"
NUM_OPENINGS = 7
FRAME_MS, OPEN_MS, SCRIPT_KB = 20.0, 500.0, 170.0

_RECORD = """() => {
  const frames = window.frameTimes = [];
  let last = performance.now();
  const next = (now) => {
    frames.push(now - last);
    last = now;
    window.frameRecorder = requestAnimationFrame(next);
  };
  window.frameRecorder = requestAnimationFrame(next);
}"""
_RECORDED = "() => { cancelAnimationFrame(window.frameRecorder); return window.frameTimes.slice(2); }"

_SCRIPT_BYTES = """() => performance.getEntriesByType("resource")
  .filter(({name}) => new URL(name).pathname.endsWith(".js")).map(({encodedBodySize}) => encodedBodySize)"""

_OPEN = """(numTokens) => new Promise((resolve) => {
  const start = performance.now();
  document.querySelector('a[href^="/requests/"]').click();
  const look = () => {
    const shown = document.querySelector('[data-testid="replay-position"]')?.textContent ?? "";
    const isDone = shown.includes(`/ ${numTokens} `) && document.querySelector('[data-testid="journey"]');
    if (isDone) requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
    else requestAnimationFrame(look);
  };
  look();
})"""

_WHEEL = """([numFrames, deltas, isZoom]) => new Promise((resolve) => {
  const plot = document.querySelector('[data-testid="timeline-plot"]');
  const {left, top, width} = plot.getBoundingClientRect();
  let frame = 0;
  const next = () => {
    const delta = deltas[Math.floor((frame / numFrames) * deltas.length)];
    plot.dispatchEvent(new WheelEvent("wheel", {deltaY: delta, ctrlKey: isZoom, cancelable: true, bubbles: true,
      clientX: left + width * (0.5 + 0.3 * Math.sin(frame / 20)), clientY: top + 200}));
    if (++frame < numFrames) requestAnimationFrame(next);
    else resolve();
  };
  requestAnimationFrame(next);
})"""


def main() -> None:
    with signed_in(PORT, viewport={"width": 1440, "height": 900}) as page:
        script = _script_row(page)
        rows = measure(page)
    write("glass", [*rows, script])


def measure(page: Page) -> list[dict[str, Any]]:
    """Import the trace, then open it and move on it."""
    _import(page)
    opened = [_open(page) for _ in range(NUM_OPENINGS)]
    rows = [_row("Open a saved trace of 4,000 tokens in the browser", opened, OPEN_MS, statistics.median(opened))]
    page.keyboard.press("t")  # expands the timeline
    moves = {"Scrub": _scrub, "Zoom": _zoom, "Pan": _pan}
    rows += [_frames(f"{name} its timeline", page, move) for name, move in moves.items()]
    page.keyboard.press("t")
    page.get_by_test_id("highlights").get_by_role("button").first.click()
    return [*rows, _frames("Drag the temperature under its closest call", page, _drag)]


def _import(page: Page) -> None:
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    file = {"name": "long.sgtrace", "mimeType": "application/octet-stream", "buffer": trace_file()}
    headers = {"X-CSRFToken": token, "Referer": page.url}
    answer = page.request.post(
        f"http://127.0.0.1:{PORT}/api/requests/import", headers=headers, multipart={"file": file}
    )
    if not answer.ok:
        raise SystemExit(f"the trace was not imported: {answer.text()}")


def _open(page: Page) -> float:
    page.goto(f"http://127.0.0.1:{PORT}/library")
    page.locator('a[href^="/requests/"]').first.wait_for()
    page.wait_for_timeout(500)
    return float(page.evaluate(_OPEN, NUM_TOKENS))


def _frames(name: str, page: Page, move: Callable[[Page], None]) -> dict[str, Any]:
    page.evaluate(_RECORD)
    move(page)
    frames: list[float] = page.evaluate(_RECORDED)
    return _row(f"{name}, frame time, 95th percentile", frames, FRAME_MS, statistics.quantiles(frames, n=20)[18])


def _scrub(page: Page) -> None:
    """The playhead from one end to the other and back, by the mouse."""
    box = page.get_by_test_id("timeline-plot").bounding_box()
    assert box is not None
    y = box["y"] + 10
    page.mouse.move(box["x"] + 10, y)
    page.mouse.down()
    for x in (box["width"] - 10, 10, box["width"] * 0.7):
        page.mouse.move(box["x"] + x, y, steps=120)
    page.mouse.up()
    page.get_by_role("button", name="To the end").click()


def _zoom(page: Page) -> None:
    page.evaluate(_WHEEL, [300, [-8, 8, -20, 20], True])
    page.evaluate(_WHEEL, [60, [-12], True])


def _pan(page: Page) -> None:
    page.evaluate(_WHEEL, [300, [30, -30, 90, -60], False])


def _drag(page: Page) -> None:
    """The temperature's slider to its end and back: bars, and the answer told anew."""
    box = page.get_by_test_id("what-if-temperature").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, y)
    page.mouse.down()
    for share in (0.9, 0.05, 0.5):
        page.mouse.move(box["x"] + box["width"] * share, y, steps=60)
    page.mouse.up()


def _row(name: str, samples: list[float], target: float, value: float) -> dict[str, Any]:
    median = statistics.median(samples)
    return {
        "name": name,
        "ours": round(value, 1),
        "peer": None,
        "ratio": None,
        "target": f"<= {target:g} ms",
        "unit": "ms",
        "spread": f"of {len(samples)}; median {median:.1f}, most {max(samples):.1f}",
    }


def _script_row(page: Page) -> dict[str, Any]:
    """All scripts that come before a message can be written, by the bytes that the browser was sent."""
    page.goto(f"http://127.0.0.1:{PORT}/")
    page.get_by_test_id("composer").wait_for()
    page.wait_for_load_state("networkidle")
    sizes: list[int] = page.evaluate(_SCRIPT_BYTES)
    return {
        "name": "Script of the first load, compressed",
        "ours": round(sum(sizes) / 1000, 1),
        "peer": None,
        "ratio": None,
        "target": f"<= {SCRIPT_KB:g} kB",
        "unit": "kB",
        "spread": f"{len(sizes)} files, as they are sent",
    }


if __name__ == "__main__":
    main()
