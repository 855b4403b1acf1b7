"""A message's body as a call. Raises ApiError, which names the wrong field by Anthropic's name."""

from __future__ import annotations

import json
from typing import Any

from webapp.api.anthropic.messages import ReadPrompt, kept, read_prompt
from webapp.api.anthropic.shapes import AnyChoice, MessageBody, PromptBody, ThinkingOff, ToolChoice
from webapp.api.anthropic.thinking import check_budget, check_signatures, check_thinking, thinking_tokens
from webapp.api.anthropic.tools import calls_of
from webapp.ground.gateway.errors import ApiError
from webapp.surfaces.calls.call import Call
from webapp.surfaces.calls.settings import settings_of, thinks

_NAMES = {
    "params.json_schema": "output_config.format.schema",
    "params.tool_calls": "tools",
    "params.stop": "stop_sequences",
}

_REFUSED = ("container", "mcp_servers", "compaction", "fallbacks", "fallback_credit_token")
"""Fields for what this server cannot do."""


def call_of(body: MessageBody) -> Call:
    """Raises ApiError, UnknownModel."""
    _check(body)
    is_able = thinks(body.model)
    prompt = prompt_of(body, is_able)
    check_budget(body)
    given = _settings(body, prompt) | {"thinking_tokens": thinking_tokens(body, is_able)}
    try:
        params = settings_of(body.model, given, may_be_empty=True)
    except ApiError as error:
        raise _renamed(error) from None
    return Call(body.model, kept(prompt.messages, prompt.breakpoints), params, pictures=prompt.pictures)


def prompt_of(body: PromptBody, is_able: bool) -> ReadPrompt:
    """is_able: the model thinks. Raises ApiError."""
    if body.thread is not None:
        message = "No conversation is kept here. Send all messages, without thread."
        raise ApiError(400, "thread_unsupported_request", message, "thread")
    for name in _REFUSED:
        if getattr(body, name, None) is not None:
            raise ApiError(400, "unsupported", f"{name} is not supported here. Leave it out.", name)
    check_thinking(body, is_able)
    if is_able:
        check_signatures(body)
    return read_prompt(body)


def _check(body: MessageBody) -> None:
    if body.max_tokens == 0:
        _check_reading_ahead(body)
    if not 0 <= (0 if body.temperature is None else body.temperature) <= 1:
        raise ApiError(400, "invalid", "temperature must be from 0 to 1.", "temperature")


def _check_reading_ahead(body: MessageBody) -> None:
    """Without an answer there is nothing to stream, to form and to call."""
    form = body.output_config.format if body.output_config else None
    must_call = isinstance(body.tool_choice, AnyChoice | ToolChoice)
    thinking = not isinstance(body.thinking, ThinkingOff | None)
    for name, is_given in (
        ("stream", body.stream),
        ("thinking", thinking),
        ("output_config.format", form),
        ("tool_choice", must_call),
    ):
        if is_given:
            message = f"max_tokens: 0 reads the prompt into the cache and gives no answer. Leave {name} out."
            raise ApiError(400, "invalid", message, name)


def _settings(body: MessageBody, prompt: ReadPrompt) -> dict[str, Any]:
    form = body.output_config.format if body.output_config else None
    return {
        "max_tokens": body.max_tokens,
        "temperature": body.temperature,
        "top_p": 1e-9 if body.top_p == 0 else body.top_p,
        "top_k": body.top_k,
        "stop": body.stop_sequences,
        "json_schema": None if form is None else json.dumps(form.schema),
        "tool_calls": calls_of(body.tool_choice, prompt.tools),
    }


def _renamed(error: ApiError) -> ApiError:
    """The same error with the field's name in Anthropic's form, also in its message."""
    if error.field is None:
        return error
    own = error.field.removeprefix("params.")
    name = _NAMES.get(error.field, own)
    message = name + error.message.removeprefix(own) if error.message.startswith(own) else error.message
    return ApiError(error.status, error.code, message, name, error.retry_after_s)
