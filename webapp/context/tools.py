"""Tools, calls and results as text for the model. Plain values in and out.

The form is that of `inference.protocol.tool_calls`: what the model reads of earlier calls is what it writes itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from inference.protocol.tool_calls import BEGIN, END, Tool

_RESULT_BEGIN, _RESULT_END = "<tool_response>", "</tool_response>"


def definitions(tools: Sequence[Tool]) -> str:
    """The tools, one JSON object a line, and the way to call them."""
    lines = [_definition(tool) for tool in tools]
    call = f'{BEGIN}{{"name": "…", "arguments": {{…}}}}{END}'
    return "\n".join(
        ["You can call these tools:", "<tools>", *lines, "</tools>", f"To call one, write {call} and nothing after it."]
    )


def result(text: str) -> str:
    """The result of one call, as the model reads it. A text that spells the result's end does not end it."""
    inner = text.replace(_RESULT_END, _RESULT_END.replace("<", "< "))
    return f"{_RESULT_BEGIN}\n{inner}\n{_RESULT_END}"


def is_result(text: str) -> bool:
    """True: the text is the result of a call, and no person's words."""
    return text.startswith(_RESULT_BEGIN)


def _definition(tool: Tool) -> str:
    told = {"name": tool.name, "description": tool.description, "parameters": json.loads(tool.parameters)}
    return json.dumps({name: value for name, value in told.items() if value != ""}, ensure_ascii=False)
