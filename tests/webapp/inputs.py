"""Inputs of requests, as their senders save them."""

from __future__ import annotations

from inference.protocol.events import ContextAssembled, PromptTokenized
from webapp.ground.context.assemble import SourceMessage
from webapp.requests.input import MessagesInput, SavedInput


def asked(text: str = "Hello", is_stepped: bool = False) -> MessagesInput:
    return MessagesInput((SourceMessage("user", text, "message:m", "user"),), is_stepped)


SAVED = SavedInput(
    (),
    ContextAssembled(at=0, window=8, reserved_output=4, num_prompt_tokens=1, segments=(), dropped=(), duration_us=0),
    PromptTokenized(at=0, tokenizer="t", version="1", ids=(1,), pieces=(), special=(0,), duration_us=0),
)
