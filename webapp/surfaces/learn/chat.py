"""A whole chat, packed turn by turn by the real assembler. Plain values in, plain values out."""

from __future__ import annotations

from collections.abc import Iterator

from inference.protocol.events import SegmentKind
from inference.tokenization.chat_template import ChatTemplate
from inference.tokenization.tokenizer import Tokenizer
from webapp.ground.context.assemble import Assembled, Assembler, SourceMessage
from webapp.ground.gateway.structs import Body, Result

MAX_TURNS = 12
MAX_CHARS = 4000
MAX_CHARS_IN_ALL = 12_000
"""Limit on work: each turn's prompt is tokenized anew, and again for each dropped turn."""
MIN_WINDOW = 64


class Exchange(Body):
    """A question and its answer."""

    question: str
    answer: str


class ChatBody(Body):
    """A chat, and the window that it must fit into."""

    turns: list[Exchange]
    window: int
    reserved: int
    """Tokens kept free for an answer."""
    system_prompt: str = ""

    def problem(self, window: int) -> tuple[str, str] | None:
        """Return the invalid field and a message; None when all are valid. window: the model's own."""
        texts = [self.system_prompt, *(text for turn in self.turns for text in (turn.question, turn.answer))]
        if not 1 <= len(self.turns) <= MAX_TURNS:
            return "turns", f"Give 1 to {MAX_TURNS} turns."
        if any(len(text) > MAX_CHARS for text in texts):
            return "turns", f"Each text may have {MAX_CHARS} characters."
        if sum(map(len, texts)) > MAX_CHARS_IN_ALL:
            return "turns", f"All texts together may have {MAX_CHARS_IN_ALL} characters."
        if not MIN_WINDOW <= self.window <= window:
            return "window", f"window must be {MIN_WINDOW} to {window}, the model's own."
        if not 1 <= self.reserved <= self.window:
            return "reserved", "reserved must be 1 to the window."
        return None


class SegmentSize(Result):
    """A segment of a prompt, and its length."""

    kind: SegmentKind
    num_tokens: int


class PackedTurn(Result):
    """The packed prompt of one turn of a chat."""

    ids: list[int]
    segments: list[SegmentSize]
    num_dropped: int
    """Messages that did not fit."""
    num_dropped_tokens: int
    reserved: int
    """Tokens kept free for the answer."""
    answer_ids: list[int]


class PackedChat(Result):
    """The prompts of a chat, turn by turn."""

    turns: list[PackedTurn]


def packed(body: ChatBody, template: ChatTemplate, tokenizer: Tokenizer) -> PackedChat:
    """Return the prompt of each turn. Raises ContextTooLarge, TemplateError, ValueError (lone surrogates)."""
    assembler = Assembler(template, tokenizer, body.window)
    messages = list(_system(body.system_prompt))
    sent = []
    for index, turn in enumerate(body.turns):
        source = f"turn:{index}"
        assembled = assembler.assemble([*messages, SourceMessage("user", turn.question, source, "user")], body.reserved)
        sent.append(_packed_turn(assembled, tokenizer.encode(turn.answer)))
        messages.append(SourceMessage("user", turn.question, source, "history"))
        messages.append(SourceMessage("assistant", turn.answer, source, "history"))
    return PackedChat(turns=sent)


def _system(prompt: str) -> Iterator[SourceMessage]:
    if prompt:
        yield SourceMessage("system", prompt, "conversation:system", "system")


def _packed_turn(assembled: Assembled, answer_ids: list[int]) -> PackedTurn:
    return PackedTurn(
        ids=list(assembled.prompt.ids),
        segments=[SegmentSize(kind=each.kind, num_tokens=each.end - each.start) for each in assembled.segments],
        num_dropped=len(assembled.dropped),
        num_dropped_tokens=sum(each.num_tokens for each in assembled.dropped),
        reserved=assembled.reserved_output,
        answer_ids=answer_ids,
    )
