"""A brought body as the prompt of a model here, and as a call, by the parsers of the live addresses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from webapp.api.anthropic.call import call_of as message_call
from webapp.api.anthropic.messages import kept, read_prompt
from webapp.api.anthropic.shapes import CountBody, MessageBody
from webapp.api.openai.body import decode
from webapp.api.openai.chat import call_of as chat_call
from webapp.api.openai.chat import tool_of
from webapp.api.openai.completions import CompletionsBody, plain_call_of, prompts_of
from webapp.api.openai.messages import chat_messages
from webapp.api.openai.responses.parse import call_of as response_call
from webapp.api.openai.responses.parse import messages_for
from webapp.api.openai.responses.shapes import ResponseBody
from webapp.api.openai.shapes import ChatBody
from webapp.ground.gateway.body import decode_body
from webapp.ground.gateway.errors import ApiError
from webapp.models.registry.offered import chosen, default_id, is_offered
from webapp.requests.input import Messages, PlainInput
from webapp.surfaces.bring.kinds import Kind
from webapp.surfaces.calls.call import Call, PlainCall
from webapp.surfaces.calls.pictures import CallPictures

AnyBody = ChatBody | CompletionsBody | ResponseBody | MessageBody | CountBody


@dataclass(frozen=True)
class Brought:
    """A brought body, read for a model here."""

    kind: Kind
    named_model: str
    """The model that the body names."""
    model: str
    """The model here that reads it."""
    prompt: Messages | PlainInput
    num_prompts: int
    """Prompts of a completion; of all other kinds: 1."""
    make_call: Callable[[], Call | PlainCall]
    """Makes the body's call, with its settings. Raises ApiError where the model here cannot take it."""


def read(text: str, kind: Kind, model: str | None, user_id: int) -> Brought:
    """model: None for the body's own, or else the default. Raises ApiError, which names the field, and UnknownModel."""
    body: Any = _body(text.removeprefix("\ufeff").encode(errors="surrogatepass"), kind)
    named = body.model
    own = named if is_offered(named) else default_id()
    body = msgspec.structs.replace(body, model=chosen(model or own))
    prompts = _prompts(body, user_id)
    return Brought(kind, named, body.model, prompts[0], len(prompts), lambda: _call(body, user_id))


def _body(data: bytes, kind: Kind) -> AnyBody:
    """Raises ApiError."""
    match kind:
        case "chat":
            return decode(data, ChatBody)
        case "completions":
            return decode(data, CompletionsBody)
        case "responses":
            return decode(data, ResponseBody)
    try:
        return decode_body(data, MessageBody)
    except ApiError as error:
        if error.field != "max_tokens" or "is missing" not in error.message:
            raise
        return decode_body(data, CountBody)  # a body for count_tokens has a prompt too


def _prompts(body: AnyBody, user_id: int) -> list[Messages] | list[PlainInput]:
    """The prompts of a body, without its settings. Raises ApiError."""
    pictures = CallPictures(body.model)
    match body:
        case ChatBody():
            return [chat_messages(body.messages, tuple(map(tool_of, body.tools or ())), pictures)]
        case CompletionsBody():
            return prompts_of(body)
        case ResponseBody():
            return [messages_for(body, user_id, pictures)]
    prompt = read_prompt(body)
    return [kept(prompt.messages, prompt.breakpoints)]


def _call(body: AnyBody, user_id: int) -> Call | PlainCall:
    """Raises ApiError."""
    match body:
        case ChatBody():
            return chat_call(body)
        case CompletionsBody():
            return plain_call_of(body)
        case ResponseBody():
            return response_call(body, user_id)
        case MessageBody():
            return message_call(body)
    raise ApiError(400, "invalid", "max_tokens is missing.", "max_tokens")
