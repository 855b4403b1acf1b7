"""Tools, calls and results as text for the model. Plain values in and out.

The form is that of `inference.protocol.tool_calls`: what the model reads of earlier calls is what it writes itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inference.protocol.tool_calls import BEGIN, END, Tool
from webapp.ground.context.source import SourceMessage

SOURCE = "tools"
"""The source of the definitions, as the prompt's segments name it."""
_RESULT_BEGIN, _RESULT_END = "<tool_response>", "</tool_response>"


def definitions(tools: Sequence[Tool]) -> str:
    """The tools, one JSON object a line, and the way to call them."""
    lines = [_definition(tool) for tool in tools]
    call = f'{BEGIN}{{"name": "…", "arguments": {{…}}}}{END}'
    return "\n".join(
        ["You can call these tools:", "<tools>", *lines, "</tools>", f"To call one, write {call} and nothing after it."]
    )


def definitions_part(tools: Sequence[Tool], is_continued: bool) -> SourceMessage:
    """The definitions as a part of the prompt. is_continued: the system message has begun before."""
    return SourceMessage("system", ("\n\n" if is_continued else "") + definitions(tools), SOURCE, "tools", is_continued)


@dataclass(frozen=True)
class Size:
    """The tokens of one definition in a prompt."""

    name: str
    num_tokens: int


def sizes(pieces: Iterable[bytes]) -> list[Size]:
    """The definitions in a stretch of a prompt, in order. A token counts to the line in which it begins."""
    lines, counts = [b""], [0]
    for piece in pieces:
        counts[-1] += 1
        first, *rest = piece.split(b"\n")
        lines[-1] += first
        lines += rest
        counts += [0] * len(rest)
    names = map(_declared, lines)
    return [Size(name, count) for name, count in zip(names, counts, strict=True) if name is not None]


def _declared(line: bytes) -> str | None:
    """The name of the tool that a line declares; None: it declares none."""
    if not line.startswith(b'{"name": '):
        return None
    try:
        return str(json.loads(line)["name"])
    except (ValueError, RecursionError):
        return None


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
