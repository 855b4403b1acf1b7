"""The grammar of an answer that may call tools, in the grammar library's own form (llguidance's Lark).

The lazy head ends a text as soon as it has the beginning of a call. From there each tool's schema decides.
"""

from __future__ import annotations

import json
from typing import Any

from llguidance import LLMatcher

from inference.protocol.failures import GrammarError
from inference.protocol.tool_calls import (
    AFTER_ARGUMENTS,
    BEFORE_ARGUMENTS,
    BEFORE_NAME,
    BEGIN,
    END,
    Tool,
    ToolCalls,
)

_COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""Free white space would let a weak model go on for ever without breaking the schema."""
_TEXT = r"(.|\n)*"


def tool_grammar(calls: ToolCalls, json_schema: str | None) -> str:
    """Return the grammar. json_schema: of an answer without a call; None: such an answer is any text.

    With a schema no text stands before a call: the library's lexer cannot tell a text that goes on from JSON.
    Raises GrammarError where a schema is no JSON object.
    """
    has_text = not calls.is_required and json_schema is None
    called = ("head" if has_text else "begin") + " call" + (" more*" if calls.is_parallel else "")
    start = called if calls.is_required else f"answer | {called}"
    names = [f"tool_{index}" for index in range(len(calls.tools))]
    rules = [
        "%llguidance {}",
        f"start: {start}",
        f"begin: {_literal(BEGIN)}",
        f"more: {_literal(BEGIN)} call",
        f"call: ({' | '.join(names)}) {_literal(AFTER_ARGUMENTS + END)}",
        *(f"{name}: {_tool(tool)}" for name, tool in zip(names, calls.tools, strict=True)),
    ]
    if json_schema is not None and not calls.is_required:
        rules.append(f"answer: %json {_schema(json_schema, 'json_schema', is_lenient=False)}")
    if has_text:
        rules += [
            "answer: TEXT",
            f"head[lazy]: /{_TEXT}/ {_literal(BEGIN)}",
            f"TEXT: /{_TEXT}/ & ~/{_TEXT}{BEGIN}{_TEXT}/",
        ]
    return LLMatcher.grammar_from_lark("\n".join(rules))


def _tool(tool: Tool) -> str:
    arguments = _schema(_object(tool), f"the tool {tool.name}", is_lenient=not tool.is_strict)
    return f"{_literal(BEFORE_NAME + tool.name + BEFORE_ARGUMENTS)} %json {arguments}"


def _object(tool: Tool) -> str:
    """The tool's schema, which makes sure that the arguments are an object: a reader finds their end by its brace.

    Raises GrammarError.
    """
    try:
        schema: Any = json.loads(tool.parameters)
    except (ValueError, RecursionError):
        return tool.parameters  # refused in words below
    if not isinstance(schema, dict) or schema.get("type") == "object":
        return tool.parameters
    if "type" in schema:
        raise GrammarError(f"the arguments of the tool {tool.name} must be an object")
    if not {"$ref", "anyOf", "oneOf", "allOf"} & schema.keys():
        return json.dumps(schema | {"type": "object"})
    roots = {name: schema.pop(name) for name in ("$defs", "definitions") if name in schema}
    return json.dumps(roots | {"allOf": [{"type": "object"}, schema]})


def _schema(text: str, place: str, *, is_lenient: bool) -> str:
    try:
        schema: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GrammarError(f"the schema of {place} is no JSON: {error}") from None
    if not isinstance(schema, dict):
        raise GrammarError(f"the schema of {place} must be a JSON object")
    options = _COMPACT | {"lenient": True} if is_lenient else _COMPACT
    return json.dumps(schema | {"x-guidance": options})


def _literal(text: str) -> str:
    return json.dumps(text)
