"""Messages of OpenAI's forms as the model's messages. Raises ApiError, which names the wrong place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inference.protocol.tool_calls import Tool, written
from webapp.api.openai.caching import Text, breakpoint_of
from webapp.api.openai.shapes import (
    AssistantMessage,
    Content,
    ImagePart,
    Message,
    RefusalPart,
    TextPart,
    ToolMessage,
    UserMessage,
)
from webapp.ground.context.assemble import SourceMessage
from webapp.ground.context.tools import result
from webapp.ground.gateway.errors import ApiError
from webapp.surfaces.calls.messages import Said, messages_of
from webapp.surfaces.calls.pictures import CallPictures


def chat_messages(
    messages: Sequence[Message], tools: Sequence[Tool], pictures: CallPictures
) -> tuple[SourceMessage, ...]:
    """Return the model's messages. tools: all that the client declares. pictures: collects those of the messages."""
    if not messages:
        raise ApiError(400, "invalid", "messages is empty. Send at least one message.", "messages")
    _check_results(messages)
    said = [said for index, each in enumerate(messages) for said in _said(each, index, pictures)]
    if not said:
        raise ApiError(400, "invalid", "messages has no text. Write something first.", "messages")
    return messages_of(said, tools)


def _said(message: Message, index: int, pictures: CallPictures) -> Iterator[Said]:
    place = f"messages[{index}]"
    may_show = pictures if isinstance(message, UserMessage) else None
    texts = list(_texts(message.content, f"{place}.content", may_show))
    if isinstance(message, ToolMessage):
        yield result_of(texts, place)
    elif isinstance(message, AssistantMessage):
        calls = [written(each.function.name, each.function.arguments or "{}") for each in message.tool_calls or ()]
        texts += map(Text, calls)
        yield from (Said("assistant", each.text, place, breakpoint=each.breakpoint) for each in texts if each.text)
    else:
        role = "user" if isinstance(message, UserMessage) else "system"
        yield from (said_text(role, each, place) for each in texts if each.has_content)


def said_text(role: str, text: Text, place: str) -> Said:
    """The text, or the picture, as a part of a message."""
    return Said(role, text.text, place, breakpoint=text.breakpoint, image=text.image)


def result_of(texts: Sequence[Text], place: str) -> Said:
    """The result of a tool's call, kept in the cache where its last part is."""
    text = result("".join(each.text for each in texts))
    return Said("user", text, place, True, is_joined=True, breakpoint=texts[-1].breakpoint if texts else None)


def _texts(content: Content, place: str, pictures: CallPictures | None) -> Iterator[Text]:
    """pictures: None where no picture may stand."""
    if content is None or isinstance(content, str):
        yield Text(content or "")
        return
    for index, part in enumerate(content):
        if isinstance(part, TextPart):
            yield Text(part.text, breakpoint_of(part.prompt_cache_breakpoint, f"{place}[{index}]"))
        elif isinstance(part, RefusalPart):
            yield Text(part.refusal)
        elif isinstance(part, ImagePart) and pictures is not None:
            yield _picture(part, pictures, f"{place}[{index}].image_url")
        else:
            kind = str(part.__struct_config__.tag)
            message = f"{place}[{index}]: a part of the type {kind} cannot stand here. Leave it out."
            raise ApiError(400, "unsupported", message, f"{place}[{index}]")


def _picture(part: ImagePart, pictures: CallPictures, place: str) -> Text:
    """`{"url", "detail"}`: the detail is the server's own choice here."""
    given = part.image_url
    address = given.get("url") if isinstance(given, dict) else given
    return Text("", image=pictures.at_address(address, place))


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
