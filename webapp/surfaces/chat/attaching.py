"""The files of a conversation: which messages carry them, and their place in the prompt. Knows nothing of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inference.protocol.events import Image
from webapp.content.attachments.models import Attachment, Carried
from webapp.content.attachments.pictures import MAX_IN_PROMPT, MAX_PROMPT_BYTES, TOO_MANY
from webapp.content.attachments.selection import NO_PINS, Pins, Selection, select
from webapp.ground.context.assemble import SourceMessage
from webapp.ground.gateway.refusal import Refusal
from webapp.models.registry.offered import has_vision, no_vision
from webapp.requests import services
from webapp.requests.input import Messages
from webapp.surfaces.chat.models import Conversation, Message

MAX_FILES = 8
"""Files that one message may carry."""


class CannotAttach(Refusal):
    """A file cannot go with this message; the exception's text says why."""

    code, field = "cannot_attach", "attachments"


@dataclass(frozen=True)
class Wanted:
    """The files that a message adds to its conversation, and the user's own choice of passages."""

    files: tuple[Attachment, ...] = ()
    pins: Pins = NO_PINS


NOTHING = Wanted()


def check(files: Sequence[Attachment], conversation: Conversation) -> None:
    """Raises CannotAttach."""
    if any(each.image for each in files) and not has_vision(conversation.model):
        raise CannotAttach(no_vision(conversation.model))
    if len(files) > MAX_FILES:
        raise CannotAttach(f"A message carries at most {MAX_FILES} files; this one has {len(files)}.")
    for each in files:
        if each.status != Attachment.Status.READY:
            why = each.reason if each.status == Attachment.Status.REFUSED else "It is still being read."
            raise CannotAttach(f"{each.name} cannot be sent: {why}")
        if each.conversation_id not in (None, conversation.pk):
            raise CannotAttach(f"{each.name} belongs to another chat. Attach it here again.")


def attach(question: Message, files: Sequence[Attachment]) -> None:
    """Let the saved message carry the files; called in the transaction that saves it."""
    Carried.objects.bulk_create(Carried(message=question, attachment=each) for each in files)
    new = [each.pk for each in files if each.conversation_id is None]
    Attachment.objects.filter(pk__in=new).update(conversation=question.conversation_id)


def selected_for(conversation: Conversation, path: Sequence[Message], wanted: Wanted) -> Selection:
    """Choose from the files that the branch's messages carry, for its last message.

    Raises CannotAttach, FilesTooLong, TokenizerError, TemplateError, SafetyModelError.
    """
    check(wanted.files, conversation)
    saved = [each.pk for each in path if each.role == Message.Role.USER and not each._state.adding]
    carried = Attachment.objects.filter(carried__message__in=saved).order_by("carried__pk") if saved else ()
    files = list({each.pk: each for each in (*carried, *wanted.files) if each.image is None}.values())
    if not files:
        return Selection()
    model = services.prompt_services(conversation.model)
    return select(files, path[-1].user_text, model.tokenizer, model.window, wanted.pins)


def with_pictures(messages: Messages, path: Sequence[Message], wanted: Wanted) -> Messages:
    """The messages, each behind the pictures that it carries. Raises CannotAttach."""
    saved = [each.pk for each in path if each.role == Message.Role.USER and not each._state.adding]
    rows = Carried.objects.filter(message__in=saved, attachment__width__isnull=False)
    carried: dict[str, list[Attachment]] = {}
    for row in rows.select_related("attachment", "message"):
        carried.setdefault(row.message.source, []).append(row.attachment)
    if new := [each for each in wanted.files if each.image is not None]:
        carried[path[-1].source] = new
    found = tuple(part for each in messages for part in _behind(carried.get(each.source, ()), each))
    _check_pictures([each.image for each in found if each.image is not None])
    return found


def _behind(pictures: Sequence[Attachment], message: SourceMessage) -> list[SourceMessage]:
    """A message of the user behind its pictures: together they are one message."""
    if not pictures or message.role != "user":
        return [message]
    first, *others = (
        SourceMessage("user", "", each.source, "image", is_continued=True, image=each.image) for each in pictures
    )
    return [replace(first, is_continued=message.is_continued), *others, replace(message, is_continued=True)]


def _check_pictures(images: Sequence[Image]) -> None:
    """Raises CannotAttach."""
    if len(images) > MAX_IN_PROMPT or sum(each.num_bytes for each in images) > MAX_PROMPT_BYTES:
        raise CannotAttach(TOO_MANY)


def with_files(messages: Messages, files: Sequence[SourceMessage]) -> Messages:
    """The messages with the files before the first turn, as the beginning of its user's message.

    A document so has a user's authority, never the system's.
    """
    if not files:
        return messages
    first = next(at for at, each in enumerate(messages) if each.role != "system")
    before, turn, after = messages[:first], messages[first], messages[first + 1 :]
    joined = replace(turn, is_continued=True) if turn.role == "user" else turn
    return (*before, *files, joined, *after)
