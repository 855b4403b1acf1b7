"""Records logs of answers to API clients anew: `python -m tests.golden.record_calls`.

Each file holds the frames as readers received them. The tests project them into each family's forms.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import django

import tests.environment  # noqa: F401 (before Django reads the environment)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup()

from tests.faults.conftest import Processes
from tests.golden.record import running

LOGS = Path(__file__).parent / "calls"
MODEL = "smollm2-135m-instruct"
WEATHER = {
    "name": "weather",
    "description": "The weather of a city.",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}, "days": {"type": "integer"}},
        "required": ["city", "days"],
        "additionalProperties": False,
    },
}
CLOCK = {"name": "clock", "description": "The time of a city.", "parameters": {"type": "object", "properties": {}}}
TOOLS = [{"type": "function", "function": each} for each in (WEATHER, CLOCK)]
ASKED = [{"role": "user", "content": "What are weather and time in Paris?"}]
TOLD = [
    {"role": "system", "content": "First say that you look it up. Then call the tool."},
    {"role": "user", "content": "What is the weather in Paris?"},
]


def main() -> None:
    LOGS.mkdir(exist_ok=True)
    with running() as processes:
        processes.start_inference()
        record(processes, "one_call", ASKED, tools=TOOLS, tool_choice="required", parallel_tool_calls=False)
        record(processes, "cut_call", ASKED, tools=TOOLS, tool_choice="required", max_tokens=16)
        record(processes, "text", TOLD, tools=TOOLS, max_tokens=40)


def record(processes: Processes, name: str, messages: list[dict[str, str]], **fields: Any) -> None:
    body = {"model": MODEL, "messages": messages, "seed": 7, "max_tokens": 120} | fields
    answer = processes.client.post("/v1/chat/completions", json=body).raise_for_status()
    print(name, answer.json()["choices"])
    frames = list(processes.frames(answer.headers["Sightglass-Trace"].rpartition("/")[2]))
    lines = ",\n".join(json.dumps(frame, ensure_ascii=False, separators=(",", ":")) for frame in frames)
    (LOGS / f"{name}.json").write_text(f"[\n{lines}\n]\n".replace(socket.gethostname(), "worker"), "utf-8")


if __name__ == "__main__":
    main()
