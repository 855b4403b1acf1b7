"""Records the request that the page shows before there is one of the visitor's own.

Starts the product on a data folder of its own, asks two questions in a browser, and saves the second one's trace: it
finds its beginning in the cache.

    python -m scripts.record_example
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from benchmarks.product import signed_in

PORT = "8768"
SETTINGS = {"temperature": 0.8, "seed": 1}
QUESTIONS = ("Write one sentence about the moon.", "Now one about the sea.")
FILE = Path(__file__).parents[1] / "frontend" / "src" / "example" / "example.json"

_BEGIN = """async (own) => {
  const token = document.cookie.match(/csrftoken=([^;]+)/)[1];
  const {models} = await (await fetch("/api/session")).json();
  const body = JSON.stringify({params: {...models[0].default_params, ...own}});
  const headers = {"Content-Type": "application/json", "X-CSRFToken": token};
  return (await (await fetch("/api/conversations", {method: "POST", headers, body})).json()).id;
}"""

_SAVED = """async (conversation) => {
  const get = (path) => fetch(path).then((response) => response.json());
  const {messages} = await get(`/api/conversations/${conversation}`);
  return (await get(`/api/requests/${messages.at(-1).request_id}/export?format=json`)).trace;
}"""


def main() -> None:
    with signed_in(PORT, viewport={"width": 1440, "height": 900}) as page:
        conversation = page.evaluate(_BEGIN, SETTINGS)
        page.goto(f"http://127.0.0.1:{PORT}/c/{conversation}")
        for number, question in enumerate(QUESTIONS, 1):
            _ask(page, question, number)
        FILE.write_text(_as_text(page.evaluate(_SAVED, conversation)["frames"]), "utf-8")


def _ask(page: Page, question: str, number: int) -> None:
    """Ends once the page has told when its text arrived, which is the trace's last event."""
    page.get_by_role("textbox", name="Message").press_sequentially(question)
    with page.expect_response(lambda response: response.url.endswith("/observed"), timeout=60_000):
        page.keyboard.press("Enter")
    expect(page.get_by_test_id("assistant-message")).to_have_count(number)


def _as_text(frames: list[dict[str, Any]]) -> str:
    """One frame a line, so that a change can be read."""
    lines = ",\n".join(json.dumps(frame, ensure_ascii=False, separators=(",", ":")) for frame in frames)
    return f'{{"trace":{{"frames":[\n{lines}\n]}}}}\n'


if __name__ == "__main__":
    main()
