"""A prompt of Anthropic's form as the model's messages. Raises ApiError, which names the wrong place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from inference.protocol.events import Image
from inference.protocol.tool_calls import Tool, written
from webapp.api.anthropic.shapes import (
    Block,
    Cacheable,
    ContentSource,
    DocumentBlock,
    ImageBlock,
    Message,
    PromptBody,
    ResultPart,
    SearchResultBlock,
    TextBlock,
    TextSource,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from webapp.api.anthropic.tools import definitions_of, tool_of
from webapp.api.anthropic.turns import blocks_of, check_turns
from webapp.content.attachments.pictures import Picture
from webapp.ground.context.assemble import SourceMessage
from webapp.ground.context.tools import result
from webapp.ground.gateway.errors import ApiError
from webapp.surfaces.calls.messages import Said, messages_of
from webapp.surfaces.calls.pictures import CallPictures

MAX_BREAKPOINTS = 4


@dataclass(frozen=True)
class Breakpoint:
    """The end of a beginning of the prompt that the client wants kept."""

    place: str
    """Its block in the body, such as `messages[2].content[0]`, or `cache_control` for the last block."""
    ttl: Literal["5m", "1h"]
    num_messages: int
    """Messages of the prompt that it covers. A breakpoint on any tool covers all tools, and what stands before them."""


@dataclass(frozen=True)
class ReadPrompt:
    """A prompt as the client gave it."""

    messages: tuple[SourceMessage, ...]
    tools: tuple[Tool, ...]
    breakpoints: tuple[Breakpoint, ...]
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class _Part:
    """A text of the prompt with the block it comes from."""

    said: Said
    place: str
    block: Block | None


def read_prompt(body: PromptBody) -> ReadPrompt:
    """Raises ApiError."""
    pictures = CallPictures(body.model)
    check_turns(body.messages)
    definitions = definitions_of(body)
    tools = tuple(map(tool_of, definitions))
    told = (part for index, each in enumerate(body.messages) for part in _parts(each, index, pictures))
    parts = [*_system(body), *told]
    messages = messages_of([part.said for part in parts], tools)
    return ReadPrompt(messages, tools, _breakpoints(body, definitions, parts, len(messages)), pictures.found)


def _system(body: PromptBody) -> Iterator[_Part]:
    texts = (TextBlock(text=body.system),) if isinstance(body.system, str) else body.system or ()
    for index, block in enumerate(texts):
        place = f"system[{index}]"
        _check_cache(block, place)
        if block.text:
            yield _Part(Said("system", block.text, "system"), place, block)


def _parts(message: Message, index: int, pictures: CallPictures) -> Iterator[_Part]:
    """The texts of a message. Results, and what follows them, are parts that line breaks separate."""
    blocks = blocks_of(message)
    has_results = any(isinstance(block, ToolResultBlock) for block in blocks)
    for number, block in enumerate(blocks):
        place = f"messages[{index}].content[{number}]"
        _check_cache(block, place)
        said_at = place if has_results else f"messages[{index}]"
        if isinstance(block, ImageBlock):
            yield _Part(Said(message.role, "", said_at, image=_picture(block, pictures, place)), place, block)
            continue
        text = _text(block, place)
        if text:
            is_result = isinstance(block, ToolResultBlock)
            said = Said(message.role, text, said_at, is_result=is_result, is_joined=is_result)
            yield _Part(said, place, block)


def _text(block: Block, place: str) -> str:
    """The block as the model reads it. It reads neither thoughts nor calls of other servers' tools."""
    match block:
        case ToolUseBlock():
            return written(block.name, json.dumps(block.input, ensure_ascii=False))
        case ToolResultBlock():
            text = "".join(_result_texts(block, place))
            return result(f"Error: {text}" if block.is_error else text)
        case TextBlock() | DocumentBlock() | SearchResultBlock():
            return _readable(block, place)
    return ""


def _picture(block: ImageBlock, pictures: CallPictures, place: str) -> Image:
    source = block.source
    if source.type == "url":
        return pictures.at_address(source.url, f"{place}.source")
    if source.type != "base64":
        message = f"{place}.source has the type {source.type[:40]!r}. Send the picture in base64."
        raise ApiError(400, "unsupported", message, f"{place}.source")
    return pictures.take(source.media_type, source.data, f"{place}.source")


def _result_texts(block: ToolResultBlock, place: str) -> Iterator[str]:
    if isinstance(block.content, str):
        yield block.content
        return
    for index, part in enumerate(block.content or ()):
        yield _readable(part, f"{place}.content[{index}]")


def _readable(part: ResultPart, place: str) -> str:
    match part:
        case TextBlock(text=text):
            return text
        case SearchResultBlock():
            texts = "\n".join(each.text for each in part.content)
            return _named(texts, part.title, part.source)
        case DocumentBlock(source=TextSource(data=data)):
            return _named(data, part.title, part.context)
        case DocumentBlock(source=ContentSource(content=content)):
            texts = content if isinstance(content, str) else "\n".join(_readable(each, place) for each in content)
            return _named(texts, part.title, part.context)
    raise _unreadable(part, place)


def _named(text: str, *names: str | None) -> str:
    """A document with what the client tells of it."""
    lines = [name for name in names if name]
    return "\n".join(["<document>", *lines, text, "</document>"])


def _unreadable(part: object, place: str) -> ApiError:
    kind = getattr(part, "__struct_config__").tag  # noqa: B009  # of any struct
    if isinstance(part, DocumentBlock):
        kind = f"document with a source of the type {part.source.__struct_config__.tag!r}"
    return ApiError(400, "unsupported", f"{place}: a part of the kind {kind} cannot stand here. Leave it out.", place)


def _check_cache(block: Block, place: str) -> None:
    if isinstance(block, TextBlock) and not block.text and block.cache_control is not None:
        raise ApiError(400, "invalid", f"{place}: an empty text takes no cache_control.", place)


def kept(messages: Sequence[SourceMessage], breakpoints: Sequence[Breakpoint]) -> tuple[SourceMessage, ...]:
    """The messages with their breakpoints. Of several at one place the longest time counts."""
    found = list(messages)
    for each in sorted(breakpoints, key=lambda each: each.ttl, reverse=True):  # 1h last
        if each.num_messages:
            found[each.num_messages - 1] = replace(found[each.num_messages - 1], breakpoint=each.ttl)
    return tuple(found)


def _breakpoints(
    body: PromptBody, definitions: Sequence[ToolDefinition], parts: Sequence[_Part], num_messages: int
) -> tuple[Breakpoint, ...]:
    """In the order of the prompt's parts as Anthropic counts them: tools, system, messages."""
    num_system = next((index for index, part in enumerate(parts) if part.said.role != "system"), len(parts))
    shift = 1 if definitions else 0
    found = [
        Breakpoint(f"tools[{index}]", each.cache_control.ttl, num_system + 1)
        for index, each in enumerate(definitions)
        if each.cache_control
    ]
    for index, part in enumerate(parts):
        if isinstance(part.block, Cacheable) and part.block.cache_control:
            covered = index + 1 + (shift if index >= num_system else 0)
            found.append(Breakpoint(part.place, part.block.cache_control.ttl, covered))
    if body.cache_control:
        found.append(Breakpoint("cache_control", body.cache_control.ttl, num_messages))
    _check_breakpoints(found)
    return tuple(found)


def _check_breakpoints(found: Sequence[Breakpoint]) -> None:
    if len(found) > MAX_BREAKPOINTS:
        message = f"A request may have {MAX_BREAKPOINTS} blocks with cache_control at most; this one has {len(found)}."
        raise ApiError(400, "invalid", message, "cache_control")
    ttls = [each.ttl for each in found]
    if "5m" in ttls and "1h" in ttls[ttls.index("5m") :]:
        message = "A cache_control of 1h may not come after one of 5m, in the order tools, system, messages."
        raise ApiError(400, "invalid", message, "cache_control")
