"""What a saved trace says the model was given, and whether today's tokenizer and template would give the same.

The ids of the trace are what is run again, so that it is the saved request also where the template has changed.
Knows nothing of databases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import msgspec

from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationForked,
    PromptTokenized,
    RequestAccepted,
)
from inference.protocol.request import SamplingParams
from inference.tokenization.chat_template import ChatMessage, TemplateError
from webapp.lifecycle.services import PromptServices

Kind = TypeVar("Kind", bound=AnyEvent)


class CannotRerun(Exception):
    """`code` is for programs: no_prompt, other_model, other_tokenizer, no_seed, fork."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Saved:
    """A trace's input."""

    model: str
    params: SamplingParams
    context: ContextAssembled
    prompt: PromptTokenized

    def messages(self) -> list[dict[str, str]]:
        """What the segments are of, in order; those that were left out of the prompt are not among them."""
        return [
            {"role": segment.role, "content": segment.text, "source": segment.source}
            for segment in self.context.segments
            if segment.kind != "template"
        ]

    def as_input(self, is_imported: bool) -> dict[str, Any]:
        """For Request.input. The pieces follow from the ids.

        Nobody here has checked what an imported trace holds, and its segments may tell of another text than its ids:
        what the model will read becomes the message, and so all of it is checked.
        """
        prompt = msgspec.structs.replace(self.prompt, pieces=())
        saved = {"context": msgspec.to_builtins(self.context), "prompt": msgspec.to_builtins(prompt)}
        return {"messages": [self._whole()] if is_imported else self.messages(), "saved": saved}

    def _whole(self) -> dict[str, str]:
        text = b"".join(self.prompt.pieces).decode(errors="replace").replace("\x00", "\ufffd")
        return {"role": "user", "content": text, "source": "trace"}


@dataclass(frozen=True)
class PromptCheck:
    """The saved prompt beside the one that today's template and tokenizer make of the same messages."""

    num_tokens: int
    num_tokens_now: int | None
    """None: today's template cannot render the messages."""
    first_difference: int | None
    """Index of the first token that differs; None: all are equal."""
    is_tokenizer_changed: bool
    """Its definition is another one, though these ids still mean the same."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def read(events: Iterable[AnyEvent]) -> Saved:
    """Raises CannotRerun."""
    found = list(events)
    accepted = _first(found, RequestAccepted)
    context = _first(found, ContextAssembled)
    prompt = _first(found, PromptTokenized)
    if accepted is None or context is None or prompt is None or not prompt.ids:
        raise CannotRerun(
            "no_prompt", "The request ended before its prompt was made, so there is nothing to run again."
        )
    if _first(found, GenerationForked) is not None:
        raise CannotRerun("fork", "This answer goes on from another one, whose tokens it kept: run that one again.")
    return Saved(accepted.model, accepted.params, context, prompt)


def check(saved: Saved, services: PromptServices, model: str) -> PromptCheck:
    """Raises CannotRerun where the ids would mean something else to the model that is here."""
    if saved.model != model:
        raise CannotRerun("other_model", f"The trace is of {saved.model}; the model here is {model}.")
    tokenizer, ids = services.tokenizer, saved.prompt.ids
    for index, (token, piece) in enumerate(zip(ids, saved.prompt.pieces, strict=True)):
        if token >= services.num_ids or tokenizer.label(token) != piece:
            message = f"Token {index} of the prompt, id {token}, is {piece!r} in the trace and not in today's tokenizer"
            raise CannotRerun("other_tokenizer", f"{message}: the saved ids would be another text.")
    now = _render(saved, services)
    return PromptCheck(
        num_tokens=len(ids),
        num_tokens_now=None if now is None else len(now),
        first_difference=0 if now is None else first_difference(ids, now),
        is_tokenizer_changed=tokenizer.version != saved.prompt.version,
    )


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    """Index of the first place where they are not the same; None: nowhere."""
    differing = (index for index, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return next(differing, None if len(a) == len(b) else min(len(a), len(b)))


def _render(saved: Saved, services: PromptServices) -> list[int] | None:
    try:
        return services.template.render([ChatMessage(m["role"], m["content"]) for m in saved.messages()]).ids
    except (TemplateError, ValueError):
        return None


def _first(events: Iterable[AnyEvent], kind: type[Kind]) -> Kind | None:
    return next((event for event in events if isinstance(event, kind)), None)
