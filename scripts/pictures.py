"""Makes the pictures of the README from the running product.

Starts the product on a data folder of its own, asks one question in each colour scheme, takes a picture once the glass
has settled, and records the light one as a short animation from Send on.

    python -m scripts.pictures
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from benchmarks.product import press, started

PORT = "8769"
SIZE = (1280, 800)
QUESTION = "Tell me one short fact about whales."
FOLDER = Path(__file__).parents[1] / "docs" / "screenshots"

FRAME_MS = 180
WIDTH = 880
"""Of the animation, px."""
REST_MS = 2500
"""How long the sample plays before Send, and how long the settled picture stands at the end."""


def main() -> None:
    with started(PORT) as (browser, link):
        state = _signed_in(browser, link)
        for scheme in ("light", "dark"):
            _take(browser, state, scheme)


def _signed_in(browser: Browser, link: str) -> Any:
    context = browser.new_context()
    page = context.new_page()
    press(page, link)
    page.get_by_test_id("composer").wait_for()
    return context.storage_state()


def _take(browser: Browser, state: Any, scheme: Literal["light", "dark"]) -> None:
    width, height = SIZE
    context = browser.new_context(
        storage_state=state, viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=1
    )
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{PORT}/")
    expect(page.get_by_test_id("journey")).to_be_visible()
    page.get_by_role("textbox", name="Message").fill(QUESTION)
    page.wait_for_timeout(REST_MS)
    film = _Film(page)
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("assistant-message")).to_be_visible(timeout=60_000)
    expect(page.get_by_test_id("other-settings")).to_be_visible(timeout=60_000)
    page.wait_for_timeout(REST_MS)
    film.stop()
    if scheme == "light":
        film.save(FOLDER / "send.webp")
    page.screenshot(path=FOLDER / ("chat.png" if scheme == "light" else "chat-dark.png"))
    context.close()


class _Film:
    """What the browser drew, with the moment of each frame in seconds."""

    def __init__(self, page: Page) -> None:
        self._devtools = page.context.new_cdp_session(page)
        self._frames: list[tuple[float, bytes]] = []
        self._devtools.on("Page.screencastFrame", self._keep)
        self._devtools.send("Page.startScreencast", {"format": "jpeg", "quality": 90})

    def _keep(self, frame: dict[str, Any]) -> None:
        self._frames.append((frame["metadata"]["timestamp"], base64.b64decode(frame["data"])))
        self._devtools.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    def stop(self) -> None:
        self._devtools.send("Page.stopScreencast")

    def save(self, path: Path) -> None:
        """Animated WebP. What is drawn within FRAME_MS of a kept frame is left out."""
        kept = [self._frames[0]]
        for at, data in self._frames[1:]:
            if at - kept[-1][0] >= FRAME_MS / 1000:
                kept.append((at, data))
        ends = [at for at, _ in kept[1:]] + [kept[-1][0] + REST_MS / 1000]
        lengths = [round(1000 * (end - at)) for (at, _), end in zip(kept, ends, strict=True)]
        pictures = [_small(data) for _, data in kept]
        first, *others = pictures
        first.save(path, save_all=True, append_images=others, duration=lengths, loop=0, quality=50, method=6)


def _small(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    return picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    main()
