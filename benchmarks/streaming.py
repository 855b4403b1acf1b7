"""How busy the page's main thread is while an answer streams with the inspector open, and what a saved token costs.

Starts the product as `make up` does and lets the bundled model write long answers, each token with its 20 candidates,
in headless Chromium with the inspector beside the chat: following scene by scene, the same with the answer tinted, then
on one panel after the other. The busy time is the main thread's own processor time (DevTools protocol,
Performance.getMetrics: TaskDuration in thread ticks) from the first text to the last event. The engine writes as fast
as it can, on a quiet machine about 200 tokens a second; the pace is told with the figure. Then the same answers' saved
traces are weighed, and the made one of 4,000 tokens.

    python -m benchmarks.streaming
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import CDPSession, Page

from benchmarks.product import signed_in
from benchmarks.rows import write
from benchmarks.synthetic_trace import NUM_TOKENS, trace_file

PORT = "8767"
GROUPS = {"Following": "Story", "Glass": "Story", "Tokens": "Prompt", "Sampling": "Model", "Events": "Record"}
"""The panels' groups; the first two are the Journey as it opens by itself."""
MAX_TOKENS = 1600
BUSY_SHARE, SAVED_BYTES = 50.0, 120.0
QUESTION = "Write a very long story about a lighthouse keeper who counts the ships of every night."
"""The model does not stop before its limit."""

_ASK = """async (params) => {
  const token = document.cookie.match(/csrftoken=([^;]+)/)[1];
  const headers = {"Content-Type": "application/json", "X-CSRFToken": token};
  const body = JSON.stringify({params, system_prompt: ""});
  return (await (await fetch("/api/conversations", {method: "POST", headers, body})).json()).id;
}"""

_SAVED = """async (id) => {
  const get = (path) => fetch(path).then((response) => response.json());
  const {messages} = await get(`/api/conversations/${id}`);
  const request = messages.at(-1).request_id;
  for (;;) {
    const {status, usage} = await get(`/api/requests/${request}`);
    if (status !== "queued" && status !== "running") {
      const file = await (await fetch(`/api/requests/${request}/export`)).arrayBuffer();
      return [usage.output, file.byteLength];
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}"""

_FIRST_TEXT = "() => document.querySelector('[data-testid=\"assistant-message\"]')?.textContent.trim()"


@dataclass(frozen=True)
class Answer:
    """One streamed answer."""

    panel: str
    num_tokens: int
    seconds: float
    busy_s: float
    num_bytes: int
    """Of its saved trace."""

    @property
    def share(self) -> float:
        """Of the main thread's time, in per cent."""
        return 100 * self.busy_s / self.seconds


def main() -> None:
    with signed_in(PORT, viewport={"width": 1440, "height": 900}) as page:
        stream(page, "Tokens")  # warm-up
        answers = [stream(page, panel) for panel in GROUPS]
    write("streaming", [_busy_row(answers), *_size_rows(answers)])


def stream(page: Page, panel: str) -> Answer:
    """One answer with one panel open."""
    page.goto(f"http://127.0.0.1:{PORT}/")
    conversation = page.evaluate(_ASK, {"max_tokens": MAX_TOKENS, "seed": 7, "stop_on_repetition": False})
    page.goto(f"http://127.0.0.1:{PORT}/c/{conversation}")
    page.get_by_role("textbox", name="Message").fill(QUESTION)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.keyboard.press("Enter")
    page.wait_for_function(_FIRST_TEXT)
    if panel == "Glass":
        page.get_by_test_id("glass-toggle").click()
    elif panel != "Following":
        page.locator(f'[data-group="{GROUPS[panel]}"]').click()
        page.get_by_role("tab", name=panel, exact=True).click()
    start = _metrics(devtools)
    page.get_by_role("button", name="Stop").wait_for(state="hidden", timeout=120_000)
    end = _metrics(devtools)
    num_tokens, num_bytes = page.evaluate(_SAVED, conversation)
    if panel == "Glass":
        page.get_by_test_id("glass-toggle").click()
    return Answer(
        panel, num_tokens, end["Timestamp"] - start["Timestamp"], end["TaskDuration"] - start["TaskDuration"], num_bytes
    )


def _metrics(devtools: CDPSession) -> dict[str, float]:
    return {each["name"]: each["value"] for each in devtools.send("Performance.getMetrics")["metrics"]}


def _busy_row(answers: list[Answer]) -> dict[str, Any]:
    worst = max(answers, key=lambda answer: answer.share)
    pace = statistics.median(answer.num_tokens / answer.seconds for answer in answers)
    panels = ", ".join(f"{answer.panel} {answer.share:.0f}" for answer in answers)
    name = f"Main thread busy while an answer streams at {pace:.0f} tokens/s with the inspector open"
    return _row(name, worst.share, BUSY_SHARE, "%", f"worst panel of {panels}")


def _size_rows(answers: list[Answer]) -> list[dict[str, Any]]:
    recorded = statistics.median(answer.num_bytes / answer.num_tokens for answer in answers)
    note = f"recorded answers of {answers[0].num_tokens} tokens, prompt and all"
    synthetic = len(trace_file()) / NUM_TOKENS
    return [
        _row("A saved trace per token with 20 candidates", recorded, SAVED_BYTES, "B", note),
        _row("The same of a made log", synthetic, SAVED_BYTES, "B", f"{NUM_TOKENS:,} tokens, five events each"),
    ]


def _row(name: str, value: float, target: float, unit: str, spread: str) -> dict[str, Any]:
    row = {"name": name, "ours": round(value, 1), "peer": None, "ratio": None}
    return row | {"target": f"<= {target:g} {unit}", "unit": unit, "spread": spread}


if __name__ == "__main__":
    main()
