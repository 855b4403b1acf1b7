"""The items of a response's input as the texts of its messages. Raises ApiError, which names the wrong place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from inference.protocol.events import Image
from inference.protocol.tool_calls import split, written
from webapp.api.openai.caching import Text, breakpoint_of
from webapp.api.openai.messages import result_of, said_text
from webapp.api.openai.responses.shapes import (
    CallItem,
    InputImage,
    InputText,
    MessageItem,
    OutputText,
    Part,
    ReasoningItem,
    ReferenceItem,
    RefusalPart,
    ResultItem,
)
from webapp.ground.gateway.body import in_words
from webapp.ground.gateway.errors import ApiError
from webapp.surfaces.calls.messages import Said
from webapp.surfaces.calls.pictures import CallPictures

_KINDS: dict[str, type[msgspec.Struct]] = {
    "message": MessageItem,
    "function_call": CallItem,
    "function_call_output": ResultItem,
    "reasoning": ReasoningItem,
    "item_reference": ReferenceItem,
}


@dataclass(frozen=True)
class Item:
    """An item of a conversation: a message, a call, or a call's result."""

    said: tuple[Said, ...]
    call_id: str | None = None
    """Of a call or a result; None: it is a message."""
    is_result: bool = False

    @property
    def is_call(self) -> bool:
        return self.call_id is not None and not self.is_result


Find = Callable[[str, str], Item]
"""Finds the item that a reference names. Takes its id and its place; raises ApiError."""


def items_of(given: str | Sequence[dict[str, Any]], place: str, find: Find, pictures: CallPictures) -> list[Item]:
    """Return the items of an input. place: of the input in the body. pictures: collects its own. Raises ApiError."""
    if isinstance(given, str):
        return [Item((Said("user", given, place),))] if given else []
    return [_item(each, f"{place}[{index}]", find, pictures) for index, each in enumerate(given)]


def answer_items(prefix: str, text: str, has_calls: bool) -> list[Item]:
    """Return the items of an answer. prefix: of its calls' ids. text: the whole answer, its calls included."""
    if not has_calls:
        return [Item((Said("assistant", text, prefix),))] if text else []
    spoken, calls = split(text)  # a call in which the answer ended was never made
    found = [Item((Said("assistant", spoken, prefix),))] if spoken else []
    for index, call in enumerate(calls):
        found.append(Item((Said("assistant", written(call.name, call.arguments), prefix),), f"{prefix}_{index}"))
    return found


def said_of(items: Sequence[Item]) -> list[Said]:
    """Return the texts of a whole conversation. Each call needs its result, and each result its call."""
    _check_results(items)
    found: list[Said] = []
    for item in items:
        for said in item.said:
            # A call stands right after the text or the call before it, as the model writes it.
            follows = item.is_call and bool(found) and found[-1].role == "assistant"
            found.append(replace(said, place=found[-1].place) if follows else said)
    return [each for each in found if each.text or each.image]


def _check_results(items: Sequence[Item]) -> None:
    calls = [item for item in items if item.is_call]
    open_calls = {item.call_id: item for item in calls}
    if len(open_calls) < len(calls):
        raise ApiError(400, "invalid", "Two function calls have the same call_id.", "input")
    seen: set[str | None] = set()
    for item in items:
        if item.is_call:
            seen.add(item.call_id)
        elif item.is_result:
            if item.call_id not in seen:
                told = f"No tool call found for function call output with call_id {str(item.call_id)[:64]}."
                raise ApiError(400, "invalid", told, "input")
            open_calls.pop(item.call_id, None)
    if open_calls:
        told = f"No tool output found for function call {', '.join(map(str, open_calls))[:200]}."
        raise ApiError(400, "invalid", told, "input")


def _item(given: dict[str, Any], place: str, find: Find, pictures: CallPictures) -> Item:
    item = _struct_of(given, place)
    match item:
        case ReferenceItem():
            return find(item.id, place)
        case ReasoningItem():
            return Item(())
        case CallItem():
            return Item((Said("assistant", written(item.name, item.arguments or "{}"), place),), item.call_id)
        case ResultItem():
            said = result_of(list(_texts(item.output, f"{place}.output", None)), place)
            return Item((said,), item.call_id, is_result=True)
        case MessageItem():
            role = item.role if item.role in ("user", "assistant") else "system"
            texts = _texts(item.content, f"{place}.content", pictures if role == "user" else None)
            return Item(tuple(said_text(role, each, place) for each in texts))
    raise AssertionError(item)


def _struct_of(given: dict[str, Any], place: str) -> Any:
    """Return the item in its form. Raises ApiError."""
    kind = given.get("type") or ("message" if "role" in given else "item_reference" if "id" in given else None)
    form = _KINDS.get(kind) if isinstance(kind, str) else None
    if form is None:
        told = "has no type" if kind is None else f"has the type {str(kind)[:64]!r}, which is not supported here"
        raise ApiError(400, "unsupported_value", f"{place} {told}.", place)
    return converted({name: value for name, value in given.items() if name != "type"}, form, place)


def converted(given: dict[str, Any], form: type[msgspec.Struct], place: str) -> Any:
    """Return an object of the body in its form. Raises ApiError."""
    try:
        return msgspec.convert(given, form)
    except msgspec.ValidationError as error:
        message, field = in_words(error, place)
        raise ApiError(400, "invalid", message, f"{place}.{field}" if field else place) from None


def _texts(content: str | Sequence[Part], place: str, pictures: CallPictures | None) -> Iterator[Text]:
    """pictures: None where no picture may stand."""
    if isinstance(content, str):
        yield Text(content)
        return
    for index, part in enumerate(content):
        if isinstance(part, InputText):
            yield Text(part.text, breakpoint_of(part.prompt_cache_breakpoint, f"{place}[{index}]"))
        elif isinstance(part, OutputText):
            yield Text(part.text)
        elif isinstance(part, RefusalPart):
            yield Text(part.refusal)
        elif isinstance(part, InputImage) and pictures is not None:
            yield Text("", image=_picture(part, pictures, f"{place}[{index}]"))
        else:
            kind = str(part.__struct_config__.tag)
            message = f"{place}[{index}]: a part of the type {kind} cannot stand here. Leave it out."
            raise ApiError(400, "unsupported", message, f"{place}[{index}]")


def _picture(part: InputImage, pictures: CallPictures, place: str) -> Image:
    if part.file_id is not None:
        message = "No picture is kept as a file here. Send it in image_url, as a data URI."
        raise ApiError(400, "unsupported", message, f"{place}.file_id")
    return pictures.at_address(part.image_url, f"{place}.image_url")
