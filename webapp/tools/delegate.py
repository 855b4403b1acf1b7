"""Starts an agent: a request of its own that answers a task. The lifecycle starts it and waits without a process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from inference.protocol.tool_calls import Tool
from webapp.tools.tool import Asker, BuiltIn, ToolError

MOST_TASK_CHARS = 1000
"""So that a weak model, which fills the room it is given, ends its call within an answer's usual limit of tokens."""


def _not_here(_: Mapping[str, Any], __: Asker) -> str:
    raise ToolError("Not run: an agent is started by the answer that delegates to it.")


def task_of(arguments: str) -> str:
    """Return the task of a call. arguments: JSON. Raises ToolError."""
    try:
        task = json.loads(arguments)["task"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ToolError(f"The arguments do not fit the tool's schema: {error}") from None
    if not isinstance(task, str) or not task.strip():
        raise ToolError("An agent needs a task.")
    storable = task.encode(errors="replace").decode().replace("\x00", "\ufffd")  # no half of a surrogate pair, no NUL
    return storable.strip()[:MOST_TASK_CHARS]


DELEGATE = BuiltIn(
    Tool(
        name="delegate",
        description=(
            "Starts an agent with a task, and gives its answer. The agent reads nothing but the task. "
            "Agents of one answer work side by side."
        ),
        parameters=json.dumps(
            {
                "type": "object",
                "properties": {"task": {"type": "string", "minLength": 1, "maxLength": MOST_TASK_CHARS}},
                "required": ["task"],
                "additionalProperties": False,
            }
        ),
        is_strict=True,
    ),
    "Delegate to an agent",
    _not_here,
)
