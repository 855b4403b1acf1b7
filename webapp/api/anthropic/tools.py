"""The tools of Anthropic's form, and the calls that an answer may make. Raises ApiError, which names the place."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from inference.protocol.tool_calls import Tool, ToolCalls
from webapp.api.anthropic.shapes import AnyChoice, AutoChoice, NoChoice, PromptBody, ToolChoice, ToolDefinition
from webapp.ground.gateway.body import in_words
from webapp.ground.gateway.errors import ApiError


def definitions_of(body: PromptBody) -> tuple[ToolDefinition, ...]:
    """Return the tools that the client declares."""
    found = tuple(_definition(each, f"tools[{index}]") for index, each in enumerate(body.tools or ()))
    if found and (problem := ToolCalls(tools=tuple(map(tool_of, found))).problem()):
        raise ApiError(400, "invalid", f"tools {problem}.", "tools")
    return found


def _definition(given: dict[str, Any], place: str) -> ToolDefinition:
    kind = given.get("type")
    if isinstance(kind, str) and kind != "custom":
        message = f"{place}: there is no tool of the type {kind[:64]!r} here. Declare a tool of your own."
        raise ApiError(400, "unsupported", message, place)
    try:
        found = msgspec.convert(given, ToolDefinition)
    except msgspec.ValidationError as error:
        message, field = in_words(error, place)
        raise ApiError(400, "invalid", message if field is None else f"{place}: {message}", place) from None
    if found.input_schema.get("type") != "object":
        raise ApiError(400, "invalid", f"{place}.input_schema must have the type 'object'.", place)
    return found


def tool_of(definition: ToolDefinition) -> Tool:
    return Tool(
        name=definition.name,
        description=definition.description,
        parameters=json.dumps(definition.input_schema),
        is_strict=bool(definition.strict),
    )


def calls_of(
    choice: AutoChoice | AnyChoice | ToolChoice | NoChoice | None, tools: tuple[Tool, ...]
) -> ToolCalls | None:
    """Return the calls that an answer may make; None: it makes none."""
    if not tools and choice is not None:
        raise ApiError(400, "invalid", "tool_choice needs tools.", "tool_choice")
    if not tools or isinstance(choice, NoChoice):
        return None
    if isinstance(choice, ToolChoice):
        tools = tuple(tool for tool in tools if tool.name == choice.name)
    if not tools:
        message = f"tool_choice names {choice.name[:64]!r}, which is not among the tools."  # type: ignore[union-attr]
        raise ApiError(400, "invalid", message, "tool_choice")
    is_required = isinstance(choice, AnyChoice | ToolChoice)
    is_parallel = choice is None or not choice.disable_parallel_tool_use
    return ToolCalls(tools=tools, is_required=is_required, is_parallel=is_parallel)
