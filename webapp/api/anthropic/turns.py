"""The rules of Anthropic's turns: which block may stand where. Raises ApiError. Knows nothing of the model's messages.

Messages of one role in a row are one turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from inference.protocol.tool_calls import TOOL_NAME
from webapp.api.anthropic.shapes import (
    Block,
    Foreign,
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from webapp.ground.gateway.errors import ApiError

MAX_MESSAGES = 100_000
_OF_ASSISTANT = (TextBlock, ToolUseBlock, ThinkingBlock, RedactedThinkingBlock, Foreign)
_NOT_OF_USER = (ToolUseBlock, ThinkingBlock, RedactedThinkingBlock)


@dataclass(frozen=True)
class Turn:
    """Messages of one role in a row."""

    role: str
    place: str
    """Of its first message."""
    blocks: tuple[Block, ...]


def blocks_of(message: Message) -> tuple[Block, ...]:
    """The blocks of a message. A text stands for one block; an empty one for none."""
    if isinstance(message.content, str):
        return (TextBlock(text=message.content),) if message.content else ()
    return message.content


def check_turns(messages: Sequence[Message]) -> None:
    """Raises ApiError."""
    if not 1 <= len(messages) <= MAX_MESSAGES:
        raise ApiError(400, "invalid", f"messages must have 1 to {MAX_MESSAGES:,} messages.", "messages")
    for index, message in enumerate(messages):
        _check_message(message, f"messages[{index}]", is_last=index == len(messages) - 1)
    turns = list(_turns(messages))
    if all(turn.role != "user" for turn in turns):
        raise ApiError(400, "invalid", "messages needs a message of the user.", "messages")
    _check_system(turns)
    _check_calls(turns)


def _turns(messages: Sequence[Message]) -> Iterator[Turn]:
    for role, group in groupby(enumerate(messages), key=lambda each: each[1].role):
        found = list(group)
        yield Turn(role, f"messages[{found[0][0]}]", tuple(block for _, each in found for block in blocks_of(each)))


def _check_message(message: Message, place: str, is_last: bool) -> None:
    blocks = blocks_of(message)
    is_beginning = is_last and message.role == "assistant"
    if not is_beginning and not any(not isinstance(block, TextBlock) or block.text for block in blocks):
        raise _wrong(place, "has no content. Only a last message of the assistant may be empty.")
    for index, block in enumerate(blocks):
        if not _may_stand(message.role, block):
            kind = block.__struct_config__.tag
            raise _wrong(f"{place}.content[{index}]", f"is a {kind} block, which no {message.role} message may have.")


def _may_stand(role: str, block: Block) -> bool:
    if role == "system":
        return isinstance(block, TextBlock)
    if role == "assistant":
        return isinstance(block, _OF_ASSISTANT)
    return not isinstance(block, _NOT_OF_USER)


def _check_system(turns: Sequence[Turn]) -> None:
    """A system message in mid conversation follows a user's turn, and is last or before one of the assistant."""
    for index, turn in enumerate(turns):
        if turn.role != "system":
            continue
        if index == 0 or turns[index - 1].role != "user":
            raise _wrong(turn.place, "is a system message, which must follow one of the user. Use system instead.")
        if index + 1 < len(turns) and turns[index + 1].role != "assistant":
            raise _wrong(turn.place, "is a system message, which must be last or before one of the assistant.")


def _check_calls(turns: Sequence[Turn]) -> None:
    """Each call is answered in the next turn, before any text; each result answers a call of the turn before."""
    seen: set[str] = set()
    open_ids: list[str] = []
    for turn in turns:
        _check_results(turn, open_ids)
        open_ids = [_checked(block, turn).id for block in turn.blocks if isinstance(block, ToolUseBlock)]
        if len(set(open_ids)) < len(open_ids) or seen & set(open_ids):
            raise _wrong(turn.place, "has a tool_use id that another block has too.")
        seen |= set(open_ids)
    if open_ids:
        raise _unanswered(turns[-1].place, open_ids)


def _checked(block: ToolUseBlock, turn: Turn) -> ToolUseBlock:
    if not TOOL_NAME.fullmatch(block.name):
        raise _wrong(turn.place, f"has a tool_use block of the name {block.name[:40]!r}, which no tool may have.")
    return block


def _check_results(turn: Turn, open_ids: Sequence[str]) -> None:
    is_over = False
    ids: list[str] = []
    for block in turn.blocks:
        if not isinstance(block, ToolResultBlock):
            is_over = True
        elif is_over and open_ids:
            raise _wrong(turn.place, "has a tool_result block after other content; results come first.")
        elif block.tool_use_id not in open_ids or block.tool_use_id in ids:
            told = f"has an unexpected tool_use_id in a tool_result block: {block.tool_use_id[:64]!r}. "
            raise _wrong(turn.place, told + "Each result answers one tool_use block of the message before.")
        else:
            ids.append(block.tool_use_id)
    if missing := [each for each in open_ids if each not in ids]:
        raise _unanswered(turn.place, missing)


def _unanswered(place: str, ids: Sequence[str]) -> ApiError:
    told = f"tool_use ids were found without tool_result blocks immediately after: {', '.join(ids)[:200]}. "
    return ApiError(400, "invalid", f"{place}: {told}Each tool_use block needs its result in the next message.", place)


def _wrong(place: str, told: str) -> ApiError:
    return ApiError(400, "invalid", f"{place} {told}", place)
