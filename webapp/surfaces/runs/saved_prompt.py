"""Reads the model's input from a saved trace, and compares it with today's tokenizer and template.

A re-run uses the trace's ids, so that it repeats the saved request even after the template has changed.
Knows nothing of databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationForked,
    PromptTokenized,
    RequestAccepted,
    Segment,
    first,
)
from inference.protocol.request import SamplingParams
from inference.safety.sentences import MAX_CHARS
from inference.tokenization.chat_template import ChatMessage, plain_prompt
from inference.tokenization.template_process import TemplateError
from inference.tokenization.tokenizer import Tokenizer
from webapp.ground.context.assemble import SourceMessage
from webapp.ground.gateway.refusal import Refusal
from webapp.ground.gateway.structs import Result
from webapp.lifecycle.tool_flags import again
from webapp.requests.input import SavedInput
from webapp.requests.services import PromptServices

WHOLE = "trace"
"""Source of a message that holds the whole prompt."""


class CannotRerun(Refusal):
    """`code` is for programs: no_prompt, too_long, other_tokenizer, no_seed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class SavedPrompt:
    """The model's input in a saved trace."""

    model: str
    params: SamplingParams
    context: ContextAssembled
    prompt: PromptTokenized
    forked: GenerationForked | None = None
    """The beginning of a fork's answer."""
    features: tuple[str, ...] = ()
    """The saved request's feature flags."""

    @property
    def is_plain(self) -> bool:
        """True: the prompt is one text, with the beginning token at most before it, and no template wrote it."""
        own = [segment for segment in self.context.segments if segment.kind == "template"]
        return len(self.context.segments) - len(own) == 1 and all(segment.end == 1 for segment in own)

    def messages(self) -> list[SourceMessage]:
        """The messages of the prompt's segments, in order. The template writes nothing between parts of one message."""
        before = (None, *self.context.segments)
        return [
            SourceMessage(
                segment.role,
                segment.text,
                segment.source,
                segment.kind,
                _is_continued(last, segment),
                image=segment.image,
            )
            for last, segment in zip(before, self.context.segments, strict=False)
            if segment.kind != "template"
        ]

    def as_input(self, is_imported: bool, may_ask: bool = False) -> SavedInput:
        """Return the input of a run. The pieces follow from the ids and are left out.

        The segments of an imported trace may differ from the text of its ids, and no check has seen either. Then the
        text of the ids becomes the only message, so that all of it is checked. The same holds where no segment has a
        message. No tool of the server is called for an imported trace, since anybody may have written its calls.

        may_ask: the run may ask its user about a call that changes something; otherwise such a call is declined.
        Raises CannotRerun where that is more than can be checked.
        """
        messages = [] if is_imported else self.messages()
        if not messages and any(segment.image is not None for segment in self.context.segments):
            message = "The trace comes from elsewhere, without its pictures. Attach them in a chat, and ask there."
            raise CannotRerun("no_prompt", message)
        return SavedInput(
            messages=tuple(messages) or (self._whole(),),
            context=self.context,
            prompt=msgspec.structs.replace(self.prompt, pieces=()),
            forked=None if self.forked is None else self._given(self.forked, is_imported),
            features=() if is_imported else again(self.features, may_ask),
        )

    def _given(self, forked: GenerationForked, is_imported: bool) -> GenerationForked:
        return msgspec.structs.replace(forked, pieces=(), rounds=() if is_imported else forked.rounds)

    def _whole(self) -> SourceMessage:
        given = self.forked.pieces if self.forked is not None else ()
        text = b"".join([*self.prompt.pieces, *given]).decode(errors="replace").replace("\x00", "\ufffd")
        if len(text) > MAX_CHARS:
            message = (
                f"The trace's prompt has {len(text):,} characters; at most {MAX_CHARS:,} can be checked for safety."
            )
            raise CannotRerun("too_long", f"{message} Send the message again in a chat, with less text.")
        return SourceMessage("user", text, WHOLE, "user")


class PromptCheck(Result):
    """The saved prompt compared with today's prompt of the same messages."""

    num_tokens: int
    num_tokens_now: int | None
    """None: today's template cannot render the messages. A plain text needs no template."""
    first_difference: int | None
    """Index of the first token that differs; None: all are equal."""
    is_tokenizer_changed: bool
    """True if the tokenizer's definition has changed, though these ids still mean the same."""


def read(events: Iterable[AnyEvent]) -> SavedPrompt:
    """Read the input from a trace's events. Raises CannotRerun."""
    found = list(events)
    accepted = first(found, RequestAccepted)
    context = first(found, ContextAssembled)
    prompt = first(found, PromptTokenized)
    if accepted is None or context is None or prompt is None or not prompt.ids:
        raise CannotRerun("no_prompt", "The request ended before it had a prompt, so there is nothing to run again.")
    forked = first(found, GenerationForked)
    return SavedPrompt(accepted.model, accepted.params, context, prompt, forked, accepted.features)


def check(saved: SavedPrompt, services: PromptServices) -> PromptCheck:
    """Compare with today's prompt. services: of the model that runs it.

    Raises CannotRerun where the ids would mean something else to that model.
    """
    tokenizer, ids = services.tokenizer, saved.prompt.ids
    _check_meaning(ids, saved.prompt.pieces, tokenizer.label, services.num_ids)
    if saved.forked is not None:
        if any(map(tokenizer.is_special, saved.forked.ids)):
            raise CannotRerun("other_tokenizer", "The fork contains control tokens, which only templates may write.")
        _check_meaning(saved.forked.ids, saved.forked.pieces, tokenizer.piece, services.num_ids)
    now = _render(saved, services)
    return PromptCheck(
        num_tokens=len(ids),
        num_tokens_now=None if now is None else len(now),
        first_difference=0 if now is None else first_difference(ids, now),
        is_tokenizer_changed=tokenizer.version != saved.prompt.version,
    )


def _check_meaning(ids: Sequence[int], pieces: Sequence[bytes], piece_of: Callable[[int], bytes], num_ids: int) -> None:
    if len(ids) != len(pieces):
        raise CannotRerun("other_tokenizer", "The trace does not hold the text of each of its ids.")
    for index, (token, piece) in enumerate(zip(ids, pieces, strict=True)):
        if not 0 <= token < num_ids or piece_of(token) != piece:
            message = f"Token {index}, id {token}, is {piece!r} in the trace and not in today's tokenizer"
            raise CannotRerun("other_tokenizer", f"{message}, so the saved ids would give another text.")


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    """Index of the first place where the two differ; None: nowhere."""
    differing = (index for index, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return next(differing, None if len(a) == len(b) else min(len(a), len(b)))


def _is_continued(last: Segment | None, segment: Segment) -> bool:
    return last is not None and last.kind != "template" and last.role == segment.role


def _render(saved: SavedPrompt, services: PromptServices) -> list[int] | None:
    if saved.is_plain:
        return _plain(saved, services.tokenizer)
    try:
        return services.template.render(
            [ChatMessage(each.role, each.content, each.is_continued) for each in saved.messages()]
        ).ids
    except (TemplateError, ValueError):
        return None


def _plain(saved: SavedPrompt, tokenizer: Tokenizer) -> list[int] | None:
    """The text's tokens now. The same tokenizer gives others where a client sent tokens: then they stay."""
    if tokenizer.version == saved.prompt.version:
        return list(saved.prompt.ids)
    try:
        return plain_prompt(tokenizer, saved.messages()[0].content).ids
    except ValueError:
        return None
