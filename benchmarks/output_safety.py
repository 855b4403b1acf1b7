"""For how long the check of an answer delays text beyond its window, on the product as `make up` starts it.

The output check waits for a window of tokens by the policy's rule: one token first, then eight, or a sentence's end.
A word may go on, so the token after a window's last word closes the window. The figure of one release runs from the
sampling of that token (`token.sampled`) to `text.released`. Where the answer's end closed the window, it runs from the
last token. So it has the check itself, its wait for a core beside the engine, and its wait for the check before it. It
lacks the append to the log.

    python -m benchmarks.output_safety
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.chatting import Chat
from benchmarks.product import running
from benchmarks.rows import Question, without_peer, write
from inference.protocol.events import AnyEvent, TextReleased, TokenSampled

PORT = "8771"
TARGET_MS = 30.0
_PARAMS = {"max_tokens": 200, "temperature": 0.8}
_SUBJECTS = ("a river", "an old clock", "a baker", "the sea", "a night train", "a garden", "snow", "a lighthouse")


def run() -> list[dict[str, Any]]:
    with running(PORT, {"SIGHTGLASS_THREADS": "2"}) as product:
        chat = Chat.of(product)
        logs = [_asked(chat, seed, subject) for seed, subject in enumerate(_SUBJECTS)]
    samples = [delay for log in logs for delay in delays_ms(log)]
    note = f"95th percentile {statistics.quantiles(samples, n=20)[18]:.1f} ms, of {len(samples)} releases"
    return [
        without_peer(Question("Text held by its check beyond the window", TARGET_MS, "ms", False, " ms"), samples, note)
    ]


def delays_ms(events: list[AnyEvent]) -> list[float]:
    """The delay of each release."""
    tokens = [event for event in events if isinstance(event, TokenSampled)]
    releases = [event for event in events if isinstance(event, TextReleased) and event.num_tokens]
    return [(each.at - _closed_at(each, tokens)) / 1000 for each in releases]


def _closed_at(release: TextReleased, tokens: list[TokenSampled]) -> int:
    """The time of the token that closed the release's window."""
    after = tokens[release.num_tokens : release.num_tokens + 1]
    known = [token.at for token in after if token.at <= release.at]
    return known[0] if known else tokens[release.num_tokens - 1].at


def _asked(chat: Chat, seed: int, subject: str) -> list[AnyEvent]:
    text = f"Write a long story about {subject}."
    return chat.ask(text, {"params": _PARAMS | {"seed": seed}})


if __name__ == "__main__":
    write("output_safety", run())
