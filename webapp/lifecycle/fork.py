"""Computes the tokens that a fork takes over from another request's answer, from that request's events.

Pure: events in, token ids out, or the reason why an answer cannot be forked. Knows nothing of users or conversations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationForked,
    KeptRound,
    PromptTokenized,
    RequestAccepted,
    TokenSampled,
)
from inference.protocol.generations import last_number, of_generation
from inference.protocol.request import SamplingParams
from inference.protocol.thinking import Thinking, ThinkingReader
from inference.tokenization.detokenizer import Detokenizer
from inference.tokenization.stop_texts import num_waiting_chars
from inference.tokenization.tokenizer import Tokenizer
from webapp.ground.gateway.refusal import Refusal
from webapp.requests.rounds import kept_rounds, rounds_before


class CannotFork(Refusal):
    """The reason why a fork is refused. `code`: for programs. `field`: the invalid field; None: the whole request."""

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = 400 if field else 409
        self.code = code
        self.field = field


@dataclass(frozen=True)
class Parent:
    """A request that can be forked: its prompt and its answer's tokens."""

    context: ContextAssembled
    prompt: PromptTokenized
    ids: tuple[int, ...]
    num_exact: int
    """Number of leading tokens whose ids are known: a remote server may not show them all."""
    generation: int = 0
    """The number of the generation that is forked."""
    rounds: tuple[KeptRound, ...] = ()
    """The rounds before it, those that it kept itself included."""


@dataclass(frozen=True)
class Fork:
    """The position where a fork leaves an answer, and the new answer's first tokens."""

    position: int
    """Number of leading tokens that are the parent's own."""
    ids: tuple[int, ...]
    is_written: bool = False
    """True if the tokens from the position on are a person's text, not a chosen token."""
    generation: int = 0
    """The parent's generation that it leaves."""


def parent_of(events: Sequence[AnyEvent], tokenizer: Tokenizer, model: str, generation: int | None = None) -> Parent:
    """Read the parent from its events: one of its generations; None: the last.

    `model`: the one that would continue. Raises CannotFork.
    """
    number = _checked_generation(events, generation)
    made_by = model
    context: ContextAssembled | None = None
    prompt: PromptTokenized | None = None
    kept: tuple[int, ...] = ()
    sampled: list[TokenSampled] = []
    for event in of_generation(events, number):
        match event:
            case RequestAccepted():
                made_by = event.model
            case ContextAssembled():
                context = event
            case PromptTokenized():
                prompt = event
            case GenerationForked():
                kept = event.ids
            case TokenSampled():
                sampled.append(event)
    if context is None or prompt is None:
        raise CannotFork("no_prompt", "The request never reached the model, so there is no answer to continue.")
    if made_by != model:
        message = f"{made_by} made this answer; the model here is {model}. Regenerate the answer instead."
        raise CannotFork("other_model", message)
    if prompt.version != tokenizer.version:
        message = "Another model, with another tokenizer, made this answer. Regenerate it instead."
        raise CannotFork("other_model", message)
    num_exact = len(kept) + next((at for at, each in enumerate(sampled) if not each.is_shown), len(sampled))
    rounds = (*kept_rounds(events), *rounds_before(events, number))
    return Parent(context, prompt, (*kept, *(each.id for each in sampled)), num_exact, number, rounds)


def _checked_generation(events: Sequence[AnyEvent], generation: int | None) -> int:
    """The number of the generation to fork. Raises CannotFork."""
    last = last_number(events)
    if generation is not None and not 0 <= generation <= last:
        message = f"generation must be from 0 to {last}: so many generations the answer has."
        raise CannotFork("unknown_generation", message, "generation")
    return last if generation is None else generation


def fork_at(parent: Parent, tokenizer: Tokenizer, num_ids: int, position: int, token_id: int | None) -> Fork:
    """Keep the tokens before the position, then the chosen one (None: it is sampled). num_ids: the model's own ids.

    Raises CannotFork.
    """
    if not 0 <= position <= len(parent.ids):
        message = f"position must be from 0 to {len(parent.ids)}: so many tokens of the answer there are to keep."
        raise CannotFork("unknown_position", message, "position")
    kept = parent.ids[:position]
    if position > parent.num_exact:
        raise CannotFork("no_ids", "Not all tokens before this one are recorded, so none can follow them.", "position")
    if any(token in tokenizer.eos_ids for token in kept):
        raise CannotFork("ends_answer", "The answer ends before this position.", "position")
    if token_id is None:
        return Fork(position, kept)
    if not 0 <= token_id < num_ids:
        raise CannotFork("unknown_token", f"token_id must be from 0 to {num_ids - 1}.", "token_id")
    if token_id in tokenizer.eos_ids:
        raise CannotFork("ends_answer", "This token ends the answer, so no text can follow it.", "token_id")
    if tokenizer.is_special(token_id):
        raise CannotFork("control_token", "Only the chat template may write control tokens.", "token_id")
    return Fork(position, (*kept, token_id))


def check_length(text: str, tokenizer: Tokenizer, window: int, params: SamplingParams) -> None:
    """Refuse a text that is too long even if it consisted of the longest tokens, before it is tokenized.

    Raises CannotFork.
    """
    least = -(-len(text.encode()) // tokenizer.longest_piece)
    if least >= params.max_tokens:
        message = f"max_tokens must be more than {least}: the text has at least so many tokens. Shorten it."
        raise CannotFork("length", message, "params.max_tokens")
    if least >= window:
        raise CannotFork("window_full", f"The text alone fills the window of {window} tokens; shorten it.")


def fork_with(parent: Parent, tokenizer: Tokenizer, text: str) -> Fork:
    """Let the answer begin with a text. The parent's leading tokens are kept as far as their bytes match it."""
    data = text.encode()
    num_thinking = _num_thinking(parent, tokenizer)
    thinking, answer = parent.ids[:num_thinking], parent.ids[num_thinking : parent.num_exact]
    num_kept = num_bytes = 0
    ends = [0]
    for token in answer:
        piece = tokenizer.piece(token)
        if not piece or not data.startswith(piece, num_bytes):
            break
        num_kept, num_bytes = num_kept + 1, num_bytes + len(piece)
        ends.append(num_bytes)
    while num_kept and is_within_word(data, ends[num_kept]):
        num_kept -= 1
    kept = (*thinking, *answer[:num_kept])
    return Fork(len(kept), (*kept, *tokenizer.encode(data[ends[num_kept] :].decode())), is_written=True)


def is_within_word(data: bytes, end: int) -> bool:
    """True if a cut here would split a character or a word. A split word's tokens would differ from the model's own."""
    if end == len(data):
        return False
    if data[end] & 0xC0 == 0x80:  # a continuation byte of UTF-8
        return True
    # No character has more than four bytes, so the characters beside the cut are whole here.
    before, after = data[max(0, end - 4) : end].decode(errors="ignore"), data[end : end + 4].decode(errors="ignore")
    return before[-1:].isalnum() and after[:1].isalnum()


def check_room(fork: Fork, parent: Parent, params: SamplingParams) -> None:
    """Check that tokens are left for an answer. Raises CannotFork where nothing could follow."""
    num_kept = len(fork.ids) + sum(each.num_tokens for each in parent.rounds)
    if num_kept >= params.max_tokens:
        message = f"max_tokens must be more than {num_kept}: so many tokens the answer has already."
        raise CannotFork("length", message, "params.max_tokens")
    if len(parent.prompt.ids) + len(fork.ids) >= parent.context.window:
        message = f"Prompt and answer so far fill the window of {parent.context.window} tokens; leave it earlier."
        raise CannotFork("window_full", message)


class Shown(NamedTuple):
    """The showable text of kept tokens."""

    thinking: str
    text: str


def shown_text(pieces: Sequence[bytes], stop: Sequence[str], thinking: Thinking | None = None) -> Shown:
    """The showable text: whole characters, without an end that may become a stop text or a tag of the thinking."""
    text, thought = Detokenizer().add(b"".join(pieces)), ""
    if thinking is not None:
        parts = ThinkingReader(thinking.begin, thinking.end, thinking.is_open).feed(text)
        thought, text = ("".join(p.text for p in parts if p.kind == kind) for kind in ("thought", "answer"))
    return Shown(thought, text[: len(text) - num_waiting_chars(text, stop)])


def _num_thinking(parent: Parent, tokenizer: Tokenizer) -> int:
    """Return the number of the parent's tokens before its answer. A person writes no thoughts for the model."""
    thinking = parent.prompt.thinking
    if thinking is None:
        return 0
    reader, detokenizer = ThinkingReader(thinking.begin, thinking.end, thinking.is_open), Detokenizer()
    for num, token in enumerate(parent.ids[: parent.num_exact]):
        if any(part.kind == "answer" for part in reader.feed(detokenizer.add(tokenizer.piece(token)))):
            return num
    return 0
