"""The input of a request, in one of five kinds: everything that the model needs. Knows nothing of preparation."""

from __future__ import annotations

from typing import Any

import msgspec
from django.db import models

from inference.protocol.events import (
    AttachmentSelected,
    ContextAssembled,
    Dropped,
    GenerationForked,
    MemoryRecalled,
    PromptTokenized,
)
from webapp.ground.context.assemble import OnFull, SourceMessage

Messages = tuple[SourceMessage, ...]


class NoInput(msgspec.Struct, frozen=True, tag_field="kind", tag="none"):
    """An imported request, an embedding, or a request whose trace was deleted."""

    messages: Messages = ()


class MessagesInput(msgspec.Struct, frozen=True, tag_field="kind", tag="messages"):
    """Messages, from which a prompt is assembled."""

    messages: Messages
    is_stepped: bool = False
    """The reader chooses each token."""
    is_given: bool = False
    """An API client sends all messages with each request: none has been checked before."""
    may_drop: bool = False
    """The client of given messages lets the oldest turns be dropped. Without it none is."""
    cache_hint: str = ""
    """The client's own word for requests that begin alike, so that one worker gets them."""
    features: tuple[str, ...] = ()
    """Feature flags of the request, such as `tool:calculator`."""
    recalled: MemoryRecalled | None = None
    """The memories that the messages have; None: memory was off, or there was none."""
    selected: AttachmentSelected | None = None
    """The parts of attached files among the messages; None: there is no file."""
    is_keeping: bool = False
    """The conversation leaves out no turn: a prompt that does not fit is refused."""
    summarised: tuple[Dropped, ...] = ()
    """The messages in whose place the summary stands."""


class ForkInput(msgspec.Struct, frozen=True, tag_field="kind", tag="fork"):
    """A parent's prompt, which is taken over, and the tokens with which the answer begins."""

    messages: Messages
    """The parent's. A re-run of the fork checks them."""
    ids: tuple[int, ...]
    is_written: bool
    """A person wrote the last tokens as text, so that they are checked as input too."""
    is_stepped: bool = False
    generation: int | None = None
    """The parent's generation that the fork leaves; None: its last."""
    features: tuple[str, ...] = ()
    """The feature flags of the parent's tools."""


class SavedInput(msgspec.Struct, frozen=True, tag_field="kind", tag="saved"):
    """The prompt of a saved trace, id by id."""

    messages: Messages
    """The texts to check."""
    context: ContextAssembled
    prompt: PromptTokenized
    forked: GenerationForked | None = None
    """The tokens with which the answer begins, where the saved request was a fork."""
    features: tuple[str, ...] = ()
    """The feature flags of the saved request's tools."""


class PlainInput(msgspec.Struct, frozen=True, tag_field="kind", tag="plain"):
    """One text that the model goes on with, without its chat template."""

    messages: Messages
    """The text, as one message."""
    ids: tuple[int, ...] = ()
    """The text's tokens, where the client sent tokens; empty: it sent the text."""


RequestInput = NoInput | MessagesInput | ForkInput | SavedInput | PlainInput


def on_full(source: MessagesInput) -> OnFull:
    """What becomes of a prompt that leaves too little for the answer."""
    if source.is_given:
        return "drop" if source.may_drop else "fill"
    return "keep" if source.is_keeping else "drop"


def cache_hint(source: RequestInput) -> str:
    """The client's word for requests that begin alike; empty: it gave none."""
    return source.cache_hint if isinstance(source, MessagesInput) else ""


def features_of(source: RequestInput) -> tuple[str, ...]:
    """The feature flags that travel with the request."""
    return source.features if isinstance(source, MessagesInput | ForkInput | SavedInput) else ()


def is_stepped(source: RequestInput) -> bool:
    """True if the reader chooses each token."""
    return isinstance(source, MessagesInput | ForkInput) and source.is_stepped


def has_pictures(source: RequestInput) -> bool:
    """True of a prompt whose tokens only its model's server can count."""
    segments = source.context.segments if isinstance(source, SavedInput) else ()
    images = [*(message.image for message in source.messages), *(segment.image for segment in segments)]
    return any(image is not None for image in images)


class InputField(models.JSONField):
    """A JSON column that holds a struct, or one of several, which `kind` identifies."""

    def __init__(self, *args: Any, struct: Any = None, **kwargs: Any) -> None:
        """struct: the type to decode. Migrations leave it out and see plain JSON."""
        super().__init__(*args, **kwargs)
        self._struct = struct

    def deconstruct(self) -> Any:
        """Describe the column to migrations as the plain JSON that it is."""
        name, _, args, kwargs = super().deconstruct()
        if "default" in kwargs:
            kwargs["default"] = dict
        return name, "django.db.models.JSONField", args, kwargs

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        found = super().from_db_value(value, expression, connection)
        is_column = self._struct is not None and isinstance(found, dict)
        return msgspec.convert(_typed(found), self._struct) if is_column else found

    def get_prep_value(self, value: Any) -> Any:
        return super().get_prep_value(msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else value)


def _typed(found: dict[str, Any]) -> dict[str, Any]:
    """A saved input whose messages all have a kind. Rows of before may lack it: their prompt was typed by place."""
    messages = found.get("messages", ())
    if all(each.get("kind") for each in messages):
        return found
    heads = [at for at, each in enumerate(messages) if not each.get("is_continued")]
    new = heads[-1] if heads else 0
    return found | {"messages": [each | {"kind": _kind_of(each, at >= new)} for at, each in enumerate(messages)]}


def _kind_of(message: dict[str, Any], is_new: bool) -> str:
    if message.get("kind"):
        return str(message["kind"])
    if message["role"] == "system":
        return "system"
    return "user" if is_new else "history"
