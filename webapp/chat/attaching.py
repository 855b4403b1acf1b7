"""The files of a conversation: which messages carry them, and their place in the prompt. Knows nothing of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from webapp.attachments.models import Attachment, Carried
from webapp.attachments.selection import NO_PINS, Pins, Selection, select
from webapp.chat.models import Conversation, Message
from webapp.context.assemble import SourceMessage
from webapp.requests import services
from webapp.requests.input import Messages

MAX_FILES = 8
"""Files that one message may carry."""


class CannotAttach(Exception):
    """A file cannot go with this message; the exception's text says why."""


@dataclass(frozen=True)
class Wanted:
    """The files that a message adds to its conversation, and the user's own choice of passages."""

    files: tuple[Attachment, ...] = ()
    pins: Pins = NO_PINS


NOTHING = Wanted()


def check(files: Sequence[Attachment], conversation: Conversation) -> None:
    """Raises CannotAttach."""
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
    files = list({each.pk: each for each in (*carried, *wanted.files)}.values())
    if not files:
        return Selection()
    model = services.prompt_services(conversation.model)
    return select(files, path[-1].user_text, model.tokenizer, model.window, wanted.pins)


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
