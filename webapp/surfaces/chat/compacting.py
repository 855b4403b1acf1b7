"""Compaction: summarises the oldest whole turns of a branch by a generation of the conversation's own model.

The generation is a request as any other, with its own trace and bill. Knows nothing of JSON.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from inference.eventlog.clock import unix_us
from inference.protocol.events import Dropped
from inference.protocol.request import SamplingParams
from webapp.ground.context.assemble import Assembler, SourceMessage
from webapp.ground.gateway.idempotency import Key
from webapp.ground.gateway.refusal import Refusal
from webapp.identity.keys.keys import check_scope
from webapp.lifecycle import begin as lifecycle
from webapp.lifecycle.prompt_packing import num_prompt_tokens, served
from webapp.lifecycle.start import Arrival
from webapp.requests.input import Messages, MessagesInput
from webapp.requests.models import Request
from webapp.surfaces.chat.branches import open_answer, path_to, without_blocked
from webapp.surfaces.chat.models import Conversation, Message, Summary
from webapp.surfaces.chat.sending import said
from webapp.surfaces.chat.summaries import after, covered_by, summary_of

SURFACE = "summary"
MAX_SUMMARY_TOKENS = 384
"""A longer summary would save little."""
NUM_KEPT = 2
"""Turns that stay as they are, where nothing else is asked: the next message most often refers to them."""
_TEMPERATURE = 0.2
_SEED = 0
_REASON = "a summary stands in its place"
_TASK = "summary:task"
_INSTRUCTION = "You summarise conversations. You write the summary and nothing else."
_BEGIN = (
    "Summarise the conversation below, so that it can go on without these messages. Keep names, numbers, decisions, "
    "wishes and open questions. Write at most {num_words} words.\n\n"
)
_END = "Write the summary now."
_SPEAKERS = {"user": "User", "assistant": "Assistant"}


class CannotCompact(Refusal):
    """No summary can be made; `code` is for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Turn:
    """A question and what follows it, up to the next question."""

    messages: tuple[Message, ...]

    def parts(self) -> list[SourceMessage]:
        """The turn as the model reads it."""
        return [part for message in self.messages for part in said(message)]


@dataclass(frozen=True)
class Plan:
    """The summary that would be made of a branch."""

    conversation: Conversation
    path: tuple[Message, ...]
    earlier: Summary | None
    """The summary that stands for the branch's beginning now: the new one takes it in."""
    covered: tuple[Turn, ...]
    kept: tuple[Turn, ...]
    messages: Messages
    """The prompt of the generation."""
    params: SamplingParams


def plan(conversation: Conversation, leaf: Message | None, num_kept: int = NUM_KEPT) -> Plan:
    """Plan a summary of all but the newest turns of the branch, or of as many as the model reads at once.

    Raises CannotCompact, CannotPrepare.
    """
    whole = path_to(leaf, conversation.tree())
    path = without_blocked(whole)
    earlier = summary_of(conversation, path)
    turns = turns_of(after(earlier, path))
    covered, kept = turns[: max(0, len(turns) - num_kept)], turns[max(0, len(turns) - num_kept) :]
    if not covered:
        raise CannotCompact("nothing_to_compact", _too_few(len(turns), num_kept))
    if open_answer([message for turn in covered for message in turn.messages]) is not None:
        raise CannotCompact("answer_open", "An answer that would be summarised is still being written.")
    return _fitting(Plan(conversation, tuple(path), earlier, tuple(covered), tuple(kept), (), _params(conversation)))


def _too_few(num_turns: int, num_kept: int) -> str:
    stay = "the newest one stays as it is" if num_kept == 1 else f"the newest {num_kept} stay as they are"
    have = "1 turn" if num_turns == 1 else f"{num_turns} turns"
    return f"The branch has {have} that no summary covers, and {stay}: there is nothing to summarise."


def turns_of(path: Sequence[Message]) -> list[Turn]:
    """The turns of a branch, oldest first."""
    turns: list[list[Message]] = []
    for message in path:
        if not turns or message.role == Message.Role.USER:
            turns.append([])
        turns[-1].append(message)
    return [Turn(tuple(each)) for each in turns]


def _params(conversation: Conversation) -> SamplingParams:
    window = served(conversation.model).window
    return SamplingParams(temperature=_TEMPERATURE, seed=_SEED, max_tokens=min(MAX_SUMMARY_TOKENS, window // 8))


def _fitting(found: Plan) -> Plan:
    """The plan with as many of the oldest turns as the model's window holds beside the summary."""
    model, most = found.conversation.model, found.params.max_tokens

    def messages_of(num: int) -> Messages:
        return _prompt(found.covered[:num], found.earlier, most)

    nums = range(1, len(found.covered) + 1)
    room = served(model).assembler.room(most)
    num = bisect_right(nums, room, key=lambda each: num_prompt_tokens(model, messages_of(each)))
    if num == 0:
        message = "The oldest turn alone does not fit the model's window, so it cannot be summarised."
        raise CannotCompact("too_long", message)
    rest = found.covered[num:]
    return replace(found, covered=found.covered[:num], kept=(*rest, *found.kept), messages=messages_of(num))


def _prompt(covered: Sequence[Turn], earlier: Summary | None, max_tokens: int) -> Messages:
    """The messages of the generation. Each part says which message it repeats."""
    begin = _BEGIN.format(num_words=max_tokens // 2)
    return (
        SourceMessage("system", _INSTRUCTION, _TASK, "system"),
        SourceMessage("user", begin, _TASK, "user"),
        *_taken_in(earlier),
        *(_told(part) for turn in covered for part in turn.parts()),
        SourceMessage("user", _END, _TASK, "user", is_continued=True),
    )


def _taken_in(earlier: Summary | None) -> Iterator[SourceMessage]:
    """The summary that the new one takes in."""
    if earlier is not None:
        text = f"Summary of what came before:\n{earlier.text}\n\n"
        yield SourceMessage("user", text, f"summary:{earlier.request_id}", "summary", is_continued=True)


def _told(part: SourceMessage) -> SourceMessage:
    """A message of the conversation, quoted in the generation's prompt."""
    speaker = "Result" if part.kind == "result" else _SPEAKERS[part.role]
    return SourceMessage("user", f"{speaker}: {part.content}\n\n", part.source, part.kind, is_continued=True)


def begin_compaction(found: Plan, arrival: Arrival, key: Key | None = None) -> Summary:
    """Begin the generation, and save the summary that it will be.

    Raises CannotCompact, NotOffered, OutOfScope, Refused, QueueUnavailable, RedisError.
    """
    conversation = found.conversation
    check_scope(arrival.api_key, "chat", conversation.model)
    request = _request(found, arrival)
    summary = _summary(found, request)

    def save() -> None:
        if conversation.summaries.filter(request__isnull=False, request__finished_at=None).exists():
            raise CannotCompact("compaction_open", "A summary of this conversation is being made. Wait for it.")
        summary.save(force_insert=True)

    def undo() -> None:
        Summary.objects.filter(pk=summary.pk).delete()

    lifecycle.begin([request], [found.params], arrival, key, [summary.pk], save, undo)
    return summary


def begun_before(ids: list[str]) -> Summary | None:
    """The summary with this id, as it is now."""
    return Summary.objects.select_related("request").filter(pk=ids[0]).first()


def _request(found: Plan, arrival: Arrival) -> Request:
    conversation = found.conversation
    return Request(
        user_id=conversation.user_id,
        key=arrival.api_key,
        surface=SURFACE,
        model=conversation.model,
        title=f"Summary of {conversation.title or 'a conversation'}"[:200],
        input=MessagesInput(found.messages, is_keeping=True),
        params=msgspec.to_builtins(found.params),
        accepted_unix_us=unix_us(),
    )


def _summary(found: Plan, request: Request) -> Summary:
    assembler = served(found.conversation.model).assembler
    covered = [*covered_by(found.earlier), *_covered(found.covered, assembler)]
    return Summary(
        conversation=found.conversation,
        up_to=found.covered[-1].messages[-1],
        request=request,
        covered=msgspec.to_builtins(covered),
        num_turns=len(found.covered) + (found.earlier.num_turns if found.earlier else 0),
        num_tokens_before=sum(each.num_tokens for each in covered),
    )


def _covered(turns: Sequence[Turn], assembler: Assembler) -> Iterator[Dropped]:
    return (assembler.drop(part, _REASON) for turn in turns for part in turn.parts())
