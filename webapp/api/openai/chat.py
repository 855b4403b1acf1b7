"""A chat completion's body as a call. Raises ApiError, which names the wrong field by OpenAI's name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from inference.protocol.request import LogitBias
from inference.protocol.tool_calls import Tool, ToolCalls
from webapp.api.openai.caching import with_breakpoints
from webapp.api.openai.messages import chat_messages
from webapp.api.openai.reasoning import thinking_tokens
from webapp.api.openai.shapes import ChatBody, JsonForm, NamedTool, SchemaForm, ToolDefinition, engine_settings
from webapp.ground.gateway.errors import ApiError
from webapp.surfaces.calls.call import Call
from webapp.surfaces.calls.pictures import CallPictures
from webapp.surfaces.calls.settings import MAX_ANSWERS, settings_of

_NAMES = {
    "params.json_schema": "response_format",
    "params.tool_calls": "tools",
}
"""OpenAI's names of settings that have another name here."""
MAX_TOP_LOGPROBS = 20


def call_of(body: ChatBody) -> Call:
    """Raises ApiError, UnknownModel."""
    _check(body)
    tools = tuple(map(tool_of, body.tools or ()))
    pictures = CallPictures(body.model)
    messages = with_breakpoints(chat_messages(body.messages, tools, pictures), body.prompt_cache_options)
    try:
        params = settings_of(body.model, _settings(body, tools), body.n or 1)
    except ApiError as error:
        length = "max_tokens" if body.max_completion_tokens is None else "max_completion_tokens"
        raise renamed(error, _NAMES | {"params.max_tokens": length}) from None
    return Call(body.model, messages, params, cache_hint=body.prompt_cache_key or "", pictures=pictures.found)


def renamed(error: ApiError, names: Mapping[str, str]) -> ApiError:
    """The same error with the field's name in OpenAI's form, also in its text. names: those that differ."""
    own = (error.field or "").removeprefix("params.")
    field = names.get(error.field or "", own) or None
    message = f"{field}{error.message[len(own) :]}" if field and error.message.startswith(own) else error.message
    return ApiError(error.status, error.code, message, field, error.retry_after_s)


def _check(body: ChatBody) -> None:
    for name in ("audio", "web_search_options", "functions", "function_call", "moderation"):
        if getattr(body, name) is not None:
            raise ApiError(400, "unsupported_parameter", f"{name} is not supported here. Leave it out.", name)
    if body.modalities is not None and set(body.modalities) != {"text"}:
        raise ApiError(400, "unsupported_value", "This model answers with text alone.", "modalities")
    if not 1 <= (1 if body.n is None else body.n) <= MAX_ANSWERS:
        raise ApiError(400, "invalid", f"n must be from 1 to {MAX_ANSWERS}.", "n")
    if body.top_logprobs is not None and not body.logprobs:
        raise ApiError(400, "invalid", "top_logprobs needs logprobs to be true.", "top_logprobs")
    if not 0 <= (body.top_logprobs or 0) <= MAX_TOP_LOGPROBS:
        raise ApiError(400, "invalid", f"top_logprobs must be from 0 to {MAX_TOP_LOGPROBS}.", "top_logprobs")
    if body.stream_options is not None and not body.stream:
        raise ApiError(400, "invalid", "stream_options needs stream to be true.", "stream_options")
    if not 0 <= (0 if body.temperature is None else body.temperature) <= 2:
        raise ApiError(400, "invalid", "temperature must be from 0 to 2.", "temperature")


def tool_of(tool: ToolDefinition) -> Tool:
    function = tool.function
    given: dict[str, Any] = {} if function.parameters is None else {"parameters": json.dumps(function.parameters)}
    return Tool(name=function.name, description=function.description or "", is_strict=bool(function.strict), **given)


def _settings(body: ChatBody, tools: tuple[Tool, ...]) -> dict[str, Any]:
    top_p = 1e-9 if body.top_p == 0 else body.top_p
    return {
        "max_tokens": body.max_tokens if body.max_completion_tokens is None else body.max_completion_tokens,
        "temperature": body.temperature,
        "top_p": top_p,
        **engine_settings(body),
        "frequency_penalty": body.frequency_penalty,
        "presence_penalty": body.presence_penalty,
        "logit_bias": biases(body.logit_bias),
        "stop": (body.stop,) if isinstance(body.stop, str) else body.stop,
        "seed": None if body.seed is None else body.seed % 2**53,
        "json_schema": _schema(body),
        "tool_calls": _calls(body, tools),
        "thinking_tokens": thinking_tokens(body.model, body.reasoning_effort, "reasoning_effort"),
    }


def biases(given: dict[str, float] | None) -> tuple[LogitBias, ...] | None:
    """Raises ApiError."""
    if given is None:
        return None
    wrong = next((name for name in given if not (name.isascii() and name.isdigit() and len(name) <= 9)), None)
    if wrong is not None:
        raise ApiError(400, "invalid", f"logit_bias has {wrong[:40]!r}; its names are ids of tokens.", "logit_bias")
    return tuple(LogitBias(id=int(name), bias=bias) for name, bias in given.items())


def _schema(body: ChatBody) -> str | None:
    form = body.response_format
    if isinstance(form, JsonForm):
        return '{"type": "object"}'
    if isinstance(form, SchemaForm):
        return json.dumps({} if form.json_schema.schema is None else form.json_schema.schema)
    return None


def _calls(body: ChatBody, tools: tuple[Tool, ...]) -> ToolCalls | None:
    choice = body.tool_choice
    if not tools:
        if choice not in (None, "none"):
            raise ApiError(400, "invalid", "tool_choice needs tools.", "tool_choice")
        return None
    if choice == "none":
        return None
    if isinstance(choice, NamedTool):
        named = tuple(tool for tool in tools if tool.name == choice.function.name)
        if not named:
            message = f"tool_choice names {choice.function.name[:64]!r}, which is not among the tools."
            raise ApiError(400, "invalid", message, "tool_choice")
        return ToolCalls(tools=named, is_required=True, is_parallel=False)
    return ToolCalls(tools=tools, is_required=choice == "required", is_parallel=body.parallel_tool_calls is not False)
