"""The exhibits' questions to the model and the engine's drafter, and the answers. Knows nothing of how these are made.

The texts are the visitor's own, cut by the model's tokenizer: no saved request stands behind them.
"""

from __future__ import annotations

import msgspec

from inference.protocol.request import Problem

MAX_TEXT_TOKENS = 64
"""Limit of a text that the model reads. Each look computes it, on one core at the lowest priority."""
MAX_LOOP_TOKENS = 16
MAX_ASKED = 8
MAX_GUESSED_TOKENS = 2048
"""Limit of prompt and answer together, which no model reads."""
MAX_GUESSES = 8
_MAX_ID = 1 << 31


class _Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all structs in this module."""


class ReadingRequest(_Value, frozen=True, kw_only=True, tag_field="type", tag="reading"):
    """A question about a text: the attention of its last token and the likely next tokens."""

    ids: tuple[int, ...]
    asked: tuple[int, ...] = ()
    """Tokens whose probability to come next is asked for."""

    def problem(self) -> Problem | None:
        """The first thing wrong; None if all is well."""
        return _wrong_text("ids", self.ids) or _wrong_asked("asked", self.asked)


class NearnessRequest(_Value, frozen=True, kw_only=True, tag_field="type", tag="nearness"):
    """A question about some tokens: the nearness of their learnt vectors to the first one's."""

    ids: tuple[int, ...]

    def problem(self) -> Problem | None:
        """The first thing wrong; None if all is well."""
        if not self.ids:
            return Problem("ids", "must be at least one token")
        return _wrong_asked("ids", self.ids)


class OrderRequest(_Value, frozen=True, kw_only=True, tag_field="type", tag="order"):
    """A question about two texts of the same tokens in other orders, ending alike: the layers that tell them apart."""

    first: tuple[int, ...]
    second: tuple[int, ...]

    def problem(self) -> Problem | None:
        """The first thing wrong; None if all is well."""
        if found := _wrong_text("first", self.first) or _wrong_text("second", self.second):
            return found
        if sorted(self.first) != sorted(self.second) or self.first[-1] != self.second[-1]:
            return Problem("second", "must have the tokens of first in another order, with the same one at the end")
        return None


class LoopRequest(_Value, frozen=True, kw_only=True, tag_field="type", tag="loop"):
    """A text that the model continues token by token, once with a KV cache and once without."""

    ids: tuple[int, ...]
    num_tokens: int

    def problem(self) -> Problem | None:
        """The first thing wrong; None if all is well."""
        if not 1 <= self.num_tokens <= MAX_LOOP_TOKENS:
            return Problem("num_tokens", f"must be 1 to {MAX_LOOP_TOKENS}")
        return _wrong_text("ids", self.ids)


class GuessRequest(_Value, frozen=True, kw_only=True, tag_field="type", tag="guess"):
    """An answer known beforehand, which the engine's prompt lookup guesses ahead."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    num_guesses: int
    """Most guesses at a time."""

    def problem(self) -> Problem | None:
        """The first thing wrong; None if all is well."""
        if not (self.prompt and self.answer and len(self.prompt) + len(self.answer) <= MAX_GUESSED_TOKENS):
            most = f"at most {MAX_GUESSED_TOKENS:,} together"
            return Problem("answer", f"and prompt must have a token each, and {most}")
        if not 0 <= self.num_guesses <= MAX_GUESSES:
            return Problem("num_guesses", f"must be 0 to {MAX_GUESSES}")
        return _wrong_ids("prompt", self.prompt) or _wrong_ids("answer", self.answer)


ExperimentRequest = ReadingRequest | NearnessRequest | OrderRequest | LoopRequest | GuessRequest


class Experiment(_Value, frozen=True, kw_only=True):
    """One question and its user. Without the user the time of an answer would tell one user what another asked."""

    user: int
    request: ExperimentRequest


def _wrong_text(field: str, ids: tuple[int, ...]) -> Problem | None:
    if not 1 <= len(ids) <= MAX_TEXT_TOKENS:
        return Problem(field, f"must be 1 to {MAX_TEXT_TOKENS} tokens")
    return _wrong_ids(field, ids)


def _wrong_asked(field: str, ids: tuple[int, ...]) -> Problem | None:
    if len(ids) > MAX_ASKED:
        return Problem(field, f"must be at most {MAX_ASKED} tokens")
    return _wrong_ids(field, ids)


def _wrong_ids(field: str, ids: tuple[int, ...]) -> Problem | None:
    if all(0 <= token < _MAX_ID for token in ids):
        return None
    return Problem(field, f"must be token ids from 0 to {_MAX_ID - 1}")


class Candidate(_Value, frozen=True, kw_only=True):
    """A token and its probability to come next."""

    id: int
    piece: bytes
    """Its bytes (base64 in JSON); a control token's name."""
    probability: float


class Reading(_Value, frozen=True, kw_only=True, tag_field="type", tag="reading"):
    """One token's pass through the model."""

    num_layers: int
    num_heads: int
    weights: bytes
    """Attention weights of the last token, as in ProbeAttended: [num_layers, num_heads, num_tokens]."""
    next: tuple[Candidate, ...]
    """The most likely next tokens, most likely first."""
    asked: tuple[float, ...]
    """The probability of each token that was asked for."""
    duration_us: int


class Near(_Value, frozen=True, kw_only=True):
    """A token and how near it is."""

    id: int
    piece: bytes
    cosine: float
    """Cosine of the angle between the two embeddings, -1 to 1."""


class Nearness(_Value, frozen=True, kw_only=True, tag_field="type", tag="nearness"):
    """The surroundings of one token's learnt vector."""

    vocab_size: int
    hidden_size: int
    """Numbers in a vector."""
    nearest: tuple[Near, ...]
    """The nearest tokens of the whole vocabulary, nearest first, without the token itself."""
    asked: tuple[float, ...]
    """The cosine of each token that was asked for with the first one."""


class OrderLayer(_Value, frozen=True, kw_only=True):
    """The difference between the two texts at their last token, after one layer."""

    turned: float
    """Length of the difference over the vector's own. 0: the model cannot tell the texts apart."""
    unturned: float
    """The same with the positions left out: no key and no query is turned."""


class Order(_Value, frozen=True, kw_only=True, tag_field="type", tag="order"):
    """The difference between the two texts, layer by layer."""

    layers: tuple[OrderLayer, ...]


class LoopStep(_Value, frozen=True, kw_only=True):
    """One token of the answer, computed in both ways."""

    id: int
    piece: bytes
    """Its bytes (base64 in JSON); a control token's name."""
    num_cached_tokens: int
    """Tokens computed with the cache: all of the prompt first, then one at a time."""
    num_uncached_tokens: int
    """Tokens computed without the cache: all there are, at every step."""
    cached_us: int
    """Processor time with the cache."""
    uncached_us: int
    is_same: bool
    """True: the pass without a cache gave the same token."""


class Loop(_Value, frozen=True, kw_only=True, tag_field="type", tag="loop"):
    """An answer's first tokens, the likeliest each time."""

    steps: tuple[LoopStep, ...]
    compute: str
    """Number format of both computations."""


class GuessStep(_Value, frozen=True, kw_only=True):
    """One pass of the model: it checks the guesses, and adds a token of its own."""

    position: int
    """Index in the answer of the pass's first token."""
    guesses: tuple[int, ...]
    num_accepted: int
    num_tokens: int
    """Tokens added to the answer."""


class Guesses(_Value, frozen=True, kw_only=True, tag_field="type", tag="guess"):
    """All passes of an answer."""

    steps: tuple[GuessStep, ...]


ExperimentOutcome = Reading | Nearness | Order | Loop | Guesses
