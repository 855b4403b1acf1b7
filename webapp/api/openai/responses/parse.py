"""A response's body as a call. Raises ApiError, which names the wrong field by OpenAI's name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from inference.protocol.tool_calls import Tool, ToolCalls
from webapp.api.openai.caching import with_breakpoints
from webapp.api.openai.chat import MAX_TOP_LOGPROBS, renamed
from webapp.api.openai.reasoning import thinking_tokens
from webapp.api.openai.responses.history import finder, items_before
from webapp.api.openai.responses.items import converted, items_of, said_of
from webapp.api.openai.responses.shapes import (
    AllowedTools,
    FunctionTool,
    NamedFunction,
    ResponseBody,
    TextFormatSchema,
)
from webapp.api.openai.shapes import JsonForm
from webapp.ground.gateway.errors import ApiError
from webapp.identity.keys.models import ApiKey
from webapp.requests.input import Messages
from webapp.surfaces.calls.call import Call
from webapp.surfaces.calls.messages import Said, messages_of
from webapp.surfaces.calls.pictures import CallPictures
from webapp.surfaces.calls.settings import settings_of

LOGPROBS = "message.output_text.logprobs"
_NAMES = {
    "params.json_schema": "text.format",
    "params.tool_calls": "tools",
    "params.max_tokens": "max_output_tokens",
}
_UNSUPPORTED = (
    "conversation",
    "prompt",
    "background_options",
    "context_management",
    "image",
    "moderation",
    "access_programs",
)
_INCLUDABLE = (LOGPROBS, "reasoning.encrypted_content")
"""What may be asked for. Reasoning is not encrypted here, so that the second adds nothing."""
_MAX_METADATA = (16, 64, 512)


def call_of(body: ResponseBody, user_id: int, key: ApiKey | None = None) -> Call:
    """Raises ApiError, UnknownModel."""
    tools = _tools(body)
    pictures = CallPictures(body.model)
    messages = messages_for(body, user_id, pictures, key)
    try:
        params = settings_of(body.model, _settings(body, tools))
    except ApiError as error:
        raise renamed(error, _NAMES) from None
    may_drop, hint = body.truncation == "auto", body.prompt_cache_key or ""
    return Call(body.model, messages, params, may_drop=may_drop, cache_hint=hint, pictures=pictures.found)


def messages_for(body: ResponseBody, user_id: int, pictures: CallPictures, key: ApiKey | None = None) -> Messages:
    """Return the model's messages: instructions, tools, the conversation before and the input. Raises ApiError.

    pictures: collects those of the conversation. key: responses of models outside its scope are not found.
    """
    _check(body)
    find = finder(user_id, key)
    before = items_before(user_id, body.previous_response_id, find, pictures, key)
    said = said_of([*before, *items_of(body.input, "input", find, pictures)])
    if not said:
        raise ApiError(400, "invalid", "input is empty. Send a text, or a list of items.", "input")
    told = [Said("system", body.instructions, "instructions")] if body.instructions else []
    return with_breakpoints(messages_of([*told, *said], _tools(body)), body.prompt_cache_options)


def _tools(body: ResponseBody) -> tuple[Tool, ...]:
    return tuple(_tool(each, f"tools[{index}]") for index, each in enumerate(body.tools or ()))


def has_logprobs(body: ResponseBody) -> bool:
    return LOGPROBS in (body.include or ()) or bool(body.top_logprobs)


def _check(body: ResponseBody) -> None:
    for name in _UNSUPPORTED:
        if getattr(body, name) is not None:
            raise ApiError(400, "unsupported_parameter", f"{name} is not supported here. Leave it out.", name)
    for each in body.include or ():
        if each not in _INCLUDABLE:
            raise ApiError(
                400, "unsupported_value", f"include has {each[:64]!r}, which is not supported here.", "include"
            )
    if body.background and body.store is False:
        raise ApiError(400, "invalid", "background needs store to be true.", "background")
    if not 0 <= (body.top_logprobs or 0) <= MAX_TOP_LOGPROBS:
        raise ApiError(400, "invalid", f"top_logprobs must be from 0 to {MAX_TOP_LOGPROBS}.", "top_logprobs")
    if not 0 <= (0 if body.temperature is None else body.temperature) <= 2:
        raise ApiError(400, "invalid", "temperature must be from 0 to 2.", "temperature")
    check_metadata(body.metadata or {})


def check_metadata(metadata: dict[str, str]) -> None:
    num, name_chars, value_chars = _MAX_METADATA
    is_long = any(len(name) > name_chars or len(value) > value_chars for name, value in metadata.items())
    if len(metadata) > num or is_long:
        message = (
            f"metadata has at most {num} entries, with names of {name_chars} and values of {value_chars} characters."
        )
        raise ApiError(400, "invalid", message, "metadata")


def _settings(body: ResponseBody, tools: tuple[Tool, ...]) -> dict[str, Any]:
    return {
        "max_tokens": body.max_output_tokens,
        "temperature": body.temperature,
        "top_p": 1e-9 if body.top_p == 0 else body.top_p,
        "seed": None if body.seed is None else body.seed % 2**53,
        "json_schema": _schema(body),
        "tool_calls": _calls(body, tools),
        "thinking_tokens": thinking_tokens(body.model, _effort(body), "reasoning.effort"),
    }


def _effort(body: ResponseBody) -> str | None:
    """Raises ApiError."""
    effort = (body.reasoning or {}).get("effort")
    if not isinstance(effort, str | None):
        raise ApiError(400, "invalid", "reasoning.effort must be a text.", "reasoning.effort")
    return effort


def _schema(body: ResponseBody) -> str | None:
    form = None if body.text is None else body.text.format
    if isinstance(form, JsonForm):
        return '{"type": "object"}'
    return json.dumps(form.schema) if isinstance(form, TextFormatSchema) else None


def _tool(given: dict[str, Any], place: str) -> Tool:
    if given.get("type") != "function":
        message = f"{place} has the type {str(given.get('type'))[:64]!r}; only functions are supported here."
        raise ApiError(400, "unsupported_value", message, place)
    tool = converted(_untyped(given), FunctionTool, place)
    schema: dict[str, Any] = {} if tool.parameters is None else {"parameters": json.dumps(tool.parameters)}
    return Tool(name=tool.name, description=tool.description or "", is_strict=bool(tool.strict), **schema)


def _calls(body: ResponseBody, tools: tuple[Tool, ...]) -> ToolCalls | None:
    choice = body.tool_choice
    if not tools:
        if choice not in (None, "none", "auto"):
            raise ApiError(400, "invalid", "tool_choice needs tools.", "tool_choice")
        return None
    if choice == "none":
        return None
    is_parallel = body.parallel_tool_calls is not False
    if not isinstance(choice, dict):
        return ToolCalls(tools=tools, is_required=choice == "required", is_parallel=is_parallel)
    if choice.get("type") == "function":
        named = converted(_untyped(choice), NamedFunction, "tool_choice")
        return ToolCalls(tools=_among(tools, [named.name]), is_required=True, is_parallel=False)
    if choice.get("type") == "allowed_tools":
        allowed = converted(_untyped(choice), AllowedTools, "tool_choice")
        names = [str(each.get("name")) for each in allowed.tools]
        return ToolCalls(tools=_among(tools, names), is_required=allowed.mode == "required", is_parallel=is_parallel)
    message = f"tool_choice has the type {str(choice.get('type'))[:64]!r}, which is not supported here."
    raise ApiError(400, "unsupported_value", message, "tool_choice")


def _among(tools: Sequence[Tool], names: Sequence[str]) -> tuple[Tool, ...]:
    unknown = next((name for name in names if all(tool.name != name for tool in tools)), None)
    if unknown is not None or not names:
        message = f"tool_choice names {str(unknown)[:64]!r}, which is not among the tools."
        raise ApiError(400, "invalid", message, "tool_choice")
    return tuple(tool for tool in tools if tool.name in names)


def _untyped(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "type"}
