"""Thinking in Anthropic's form: what a call may ask for, and the signature of a block. Raises ApiError."""

from __future__ import annotations

import base64
import hmac

from django.conf import settings

from inference.protocol.thinking import BUDGETS, MIN_BUDGET, Effort
from webapp.api.anthropic.shapes import (
    AnyChoice,
    MessageBody,
    PromptBody,
    ThinkingAdaptive,
    ThinkingBlock,
    ThinkingOff,
    ThinkingOn,
    ToolChoice,
)
from webapp.api.anthropic.turns import blocks_of
from webapp.ground.gateway.errors import ApiError

_PURPOSE = b"sightglass.anthropic.thinking:"
_EFFORTS: dict[str, Effort] = {"low": "low", "medium": "medium", "high": "high"}
"""Anthropic's efforts that limit the thinking. The others do not."""
_DISPLAYS = ("summarized", "omitted")


def check_thinking(body: PromptBody, is_able: bool) -> None:
    """Check what the body asks for. is_able: the model thinks."""
    asked = body.thinking
    if isinstance(asked, ThinkingOff | None):
        return
    if not is_able or not isinstance(asked, ThinkingOn | ThinkingAdaptive):
        message = f"thinking: {body.model[:100]!r} does not think. Leave the field out, or send the type 'disabled'."
        raise ApiError(400, "unsupported", message, "thinking")
    if asked.display not in (None, *_DISPLAYS):
        raise ApiError(400, "invalid", "thinking.display must be 'summarized' or 'omitted'.", "thinking.display")
    if isinstance(body.tool_choice, AnyChoice | ToolChoice):
        raise ApiError(400, "invalid", "Thinking may not be enabled when tool_choice forces tool use.", "tool_choice")
    if body.messages and body.messages[-1].role == "assistant":
        message = "Thinking may not be enabled when the last message is the assistant's: an answer that has begun."
        raise ApiError(400, "invalid", message, "messages")


def check_budget(body: MessageBody) -> None:
    """Check the budget against the API's rules."""
    if not isinstance(body.thinking, ThinkingOn):
        return
    budget = body.thinking.budget_tokens
    if budget < MIN_BUDGET:
        message = f"thinking.budget_tokens must be {MIN_BUDGET:,} or more."
        raise ApiError(400, "invalid", message, "thinking.budget_tokens")
    if budget >= body.max_tokens:
        message = "max_tokens must be greater than thinking.budget_tokens."
        raise ApiError(400, "invalid", message, "max_tokens")


def thinking_tokens(body: PromptBody, is_able: bool) -> int | None:
    """Return the setting: 0: no thinking. None: no limit, or a model that does not think."""
    if not is_able:
        return None
    match body.thinking:
        case ThinkingOn(budget_tokens=budget):
            return budget
        case ThinkingAdaptive():
            effort = body.output_config.effort if body.output_config else None
            return BUDGETS[_EFFORTS[effort]] if effort in _EFFORTS else None
    return 0


def is_omitted(body: PromptBody) -> bool:
    """Return whether the thinking's text is to be left out of the answer."""
    return isinstance(body.thinking, ThinkingOn | ThinkingAdaptive) and body.thinking.display == "omitted"


def signature(text: str) -> str:
    """Return the signature of a block's text: proof that this site made it."""
    key = settings.SECRET_KEY.encode()
    return base64.b64encode(hmac.digest(key, _PURPOSE + text.encode(), "sha256")).decode()


def check_signatures(body: PromptBody) -> None:
    """Check the thinking that the client sends back. The model that thinks made it here, letter by letter."""
    for at, message in enumerate(body.messages):
        for index, block in enumerate(blocks_of(message)):
            is_own = not isinstance(block, ThinkingBlock) or _is_signed(block)
            if not is_own:
                place = f"messages[{at}].content[{index}]"
                raise ApiError(400, "invalid", f"{place}: Invalid `signature` in `thinking` block.", place)


def _is_signed(block: ThinkingBlock) -> bool:
    return hmac.compare_digest(signature(block.thinking).encode(), block.signature.encode())
