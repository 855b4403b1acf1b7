"""What a call of a tool costs an answer beyond the tool itself, on the product as `make up` starts it.

A message forces a call of the calculator. The figure runs from the end of the generation that made the call
(`generation.finished`) to the engine's admission of the next one (`generation.started`), less the tool's own time
(`tool.finished`). So it has everything between: the report's way through its queue, the log's reads and writes, the
safety check of the result, the next prompt, the generation's way through its queue, and the compilation of its
grammar. It lacks the prefill of the result. Nothing else runs.

    python -m benchmarks.tool_round
"""

from __future__ import annotations

from typing import Any

from benchmarks.chatting import Chat
from benchmarks.product import running
from benchmarks.rows import Question, without_peer, write
from inference.protocol.events import (
    AnyEvent,
    GenerationFinished,
    GenerationStarted,
    SafetyChecked,
    ToolFinished,
    first,
)
from inference.protocol.generations import by_number

PORT = "8770"
NUM_MESSAGES, NUM_WARM_UPS = 25, 3
TARGET_MS = 10.0
_SETTINGS = {"tools": ["calculator"], "params": {"max_tokens": 60, "temperature": 0}}


def run() -> list[dict[str, Any]]:
    with running(PORT, {"SIGHTGLASS_THREADS": "2"}) as product:
        chat = Chat.of(product)
        logs = [_asked(chat, number) for number in range(NUM_WARM_UPS + NUM_MESSAGES)][NUM_WARM_UPS:]
    samples = [cost for log in logs if (cost := cost_ms(log)) is not None]
    checks_ms = sorted(check.duration_us / 1000 for log in logs for check in _checks(log))
    note = f"of these the check of the result {checks_ms[len(checks_ms) // 2]:.1f}"
    return [without_peer(Question("A tool round beyond the tool", TARGET_MS, "ms", False, " ms"), samples, note)]


def cost_ms(events: list[AnyEvent]) -> float | None:
    """The pause between the first two generations, less the tool's time; None: there was no second one."""
    generations = by_number(events)
    ended, tool = first(generations[0], GenerationFinished), first(generations[0], ToolFinished)
    begun = first(generations.get(1, ()), GenerationStarted)
    if ended is None or tool is None or begun is None:
        return None
    return (begun.at - ended.at - tool.duration_us) / 1000


def _asked(chat: Chat, number: int) -> list[AnyEvent]:
    """Ask for a product that was not asked for before."""
    return chat.ask(f"What is {17 + number} * {23 + 3 * number}?", _SETTINGS, must_call=True)


def _checks(events: list[AnyEvent]) -> list[SafetyChecked]:
    return [each for each in events if isinstance(each, SafetyChecked) and each.layer == "tool_result"]


if __name__ == "__main__":
    write("tool_round", run())
