"""Messages of OpenAI's forms as the model's messages. Raises ApiError, which names the wrong place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inference.protocol.tool_calls import Tool, written
from webapp.api.openai.caching import Text, breakpoint_of
from webapp.api.openai.shapes import (
    AssistantMessage,
    Content,
    Message,
    RefusalPart,
    TextPart,
    ToolMessage,
    UserMessage,
)
from webapp.calls.messages import Said, messages_of
from webapp.context.assemble import SourceMessage
from webapp.context.tools import result
from webapp.gateway.errors import ApiError


def chat_messages(messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[SourceMessage, ...]:
    """Return the model's messages. tools: all that the client declares."""
    if not messages:
        raise ApiError(400, "invalid", "messages is empty. Send at least one message.", "messages")
    _check_results(messages)
    said = [said for index, each in enumerate(messages) for said in _said(each, index)]
    if not said:
        raise ApiError(400, "invalid", "messages has no text. Write something first.", "messages")
    return messages_of(said, tools)


def _said(message: Message, index: int) -> Iterator[Said]:
    place = f"messages[{index}]"
    texts = list(_texts(message.content, f"{place}.content"))
    if isinstance(message, ToolMessage):
        yield result_of(texts, place)
    elif isinstance(message, AssistantMessage):
        calls = [written(each.function.name, each.function.arguments or "{}") for each in message.tool_calls or ()]
        texts += map(Text, calls)
        yield from (Said("assistant", each.text, place, breakpoint=each.breakpoint) for each in texts if each.text)
    else:
        role = "user" if isinstance(message, UserMessage) else "system"
        yield from (Said(role, each.text, place, breakpoint=each.breakpoint) for each in texts if each.text)


def result_of(texts: Sequence[Text], place: str) -> Said:
    """The result of a tool's call, kept in the cache where its last part is."""
    text = result("".join(each.text for each in texts))
    return Said("user", text, place, True, is_joined=True, breakpoint=texts[-1].breakpoint if texts else None)


def _texts(content: Content, place: str) -> Iterator[Text]:
    if content is None or isinstance(content, str):
        yield Text(content or "")
        return
    for index, part in enumerate(content):
        if isinstance(part, TextPart):
            yield Text(part.text, breakpoint_of(part.prompt_cache_breakpoint, f"{place}[{index}]"))
        elif isinstance(part, RefusalPart):
            yield Text(part.refusal)
        else:
            kind = str(part.__struct_config__.tag)
            message = f"This model reads text alone, and no {kind} part. Leave the part out."
            raise ApiError(400, "unsupported", message, f"{place}[{index}]")


def _check_results(messages: Sequence[Message]) -> None:
    """Each call needs its result before the next other message, and each result a call before it."""
    open_ids: list[str] = []
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_ids:
                told = f"tool_call_id {message.tool_call_id[:64]!r} answers no tool call of the message before."
                raise ApiError(400, "invalid", told, f"messages[{index}].tool_call_id")
            open_ids.remove(message.tool_call_id)
            continue
        if open_ids:
            break
        open_ids = [each.id for each in message.tool_calls or ()] if isinstance(message, AssistantMessage) else []
    if open_ids:
        told = f"A message with tool_calls must be followed by a tool message for each: {', '.join(open_ids)[:200]}."
        raise ApiError(400, "invalid", told, "messages")
