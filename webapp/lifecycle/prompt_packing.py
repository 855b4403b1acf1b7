"""The one way to pack messages into a prompt, for sending and for previews. Knows nothing of logs or tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inference.protocol.events import AnyEvent, ContextAssembled, Dropped, PromptTokenized
from inference.protocol.request import SamplingParams
from inference.tokenization.gguf_metadata import TokenizerError
from inference.tokenization.template_process import MessagesRefused, TemplateError
from webapp.ground.context.assemble import Assembled, ContextTooLarge, OnFull, SourceMessage
from webapp.requests import services
from webapp.requests.failure import CannotPrepare
from webapp.requests.input import PlainInput
from webapp.requests.services import PromptServices


def served(model: str) -> PromptServices:
    """The tokenizer, template and limits of a model. Raises CannotPrepare."""
    try:
        return services.prompt_services(model)
    except (TokenizerError, TemplateError) as error:
        raise _unusable(error) from error


def pack(
    model: PromptServices,
    messages: Sequence[SourceMessage],
    params: SamplingParams,
    on_full: OnFull = "drop",
    summarised: tuple[Dropped, ...] = (),
) -> Assembled:
    """Pack the messages into the model's window. on_full: see Assembler. summarised: messages that a summary replaces.

    Raises CannotPrepare.
    """
    try:
        assembled = model.assembler.assemble(messages, params.max_tokens, on_full, may_think(params))
        return replace(assembled, summarised=summarised)
    except ContextTooLarge as error:
        raise CannotPrepare("context", "prompt_too_long", str(error)) from None
    except (TokenizerError, TemplateError) as error:
        raise _unusable(error) from error


def pack_plain(model: PromptServices, plain: PlainInput, params: SamplingParams) -> Assembled:
    """Pack a text that the model goes on with. Raises CannotPrepare."""
    try:
        return model.assembler.plain(plain.messages[0], plain.ids, params.max_tokens)
    except ContextTooLarge as error:
        raise CannotPrepare("context", "prompt_too_long", str(error)) from None


def num_prompt_tokens(model: str, messages: Sequence[SourceMessage], may_think: bool = True) -> int:
    """Return the number of tokens of the prompt that these messages make. Raises CannotPrepare."""
    found = served(model)
    try:
        return found.assembler.num_tokens(messages, may_think)
    except (TokenizerError, TemplateError) as error:
        raise _unusable(error) from error


def whole(model: str, messages: Sequence[SourceMessage]) -> Assembled:
    """Return the prompt of all messages, of whatever size, for a reader. Raises CannotPrepare."""
    found = served(model)
    try:
        return found.assembler.whole(messages)
    except (TokenizerError, TemplateError) as error:
        raise _unusable(error) from error


def _unusable(error: Exception) -> CannotPrepare:
    if isinstance(error, MessagesRefused):
        message = f"This model takes no such messages: {error}. Change their roles or their order."
        return CannotPrepare("context", "messages_refused", message)
    return CannotPrepare("context", "model_unavailable", f"The model's tokenizer cannot be used: {error}")


def packing_events(model: PromptServices, assembled: Assembled, at: int, duration_us: int) -> list[AnyEvent]:
    """The events of a prompt. at: the end of its assembly, µs since acceptance.

    The tokenizer runs at the end of assembly; its time is reported separately.
    """
    prompt = assembled.prompt
    us = prompt.encoding_us
    tokenized = PromptTokenized(
        at=at,
        tokenizer=model.tokenizer.name,
        version=model.tokenizer.version,
        ids=tuple(prompt.ids),
        pieces=tuple(model.tokenizer.label(token) for token in prompt.ids),
        special=tuple(prompt.special),
        lossy_bytes=prompt.lossy_bytes,
        duration_us=us,
        thinking=prompt.thinking,
    )
    return [context_event(assembled, at - us, duration_us - us), tokenized]


def context_event(assembled: Assembled, at: int, duration_us: int) -> ContextAssembled:
    """The event. at: the time of assembly, µs since acceptance. Neither figure includes the tokenizer's time."""
    return ContextAssembled(
        at=at,
        window=assembled.window,
        reserved_output=assembled.reserved_output,
        num_prompt_tokens=len(assembled.prompt.ids),
        segments=assembled.segments,
        dropped=assembled.dropped,
        summarised=assembled.summarised,
        duration_us=duration_us,
    )


def may_think(params: SamplingParams) -> bool:
    """Return whether the template may let the model think."""
    return params.thinking_tokens != 0


def most_output(window: int, num_prompt_tokens: int, params: SamplingParams) -> int:
    """Most tokens that the answer may have: the lesser of max_tokens and the window's room."""
    return min(params.max_tokens, window - num_prompt_tokens)
