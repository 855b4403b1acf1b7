"""The logits processors that change logits before candidates are sorted: grammar, banned tokens, bias, penalties, DRY;
and the one that leaves a forced token alone.

A logit of minus infinity removes a token. Knows nothing of probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from inference.protocol.events import ProcessorName
from inference.protocol.failures import GrammarError
from inference.protocol.request import SamplingParams
from inference.sampling.dry import Dry, Piece
from inference.sampling.errors import MaskPending, SamplingFailed
from inference.sampling.thinking import ThinkingControl

Row = NDArray[np.float32]

_PATIENCE_S = 0.005
"""Longest wait for a mask, which is begun a whole step before. After drafts it is begun at the same moment."""
_NUM_IN_TIME = 32
"""Masks in time after a late one, until a mask is waited for again. So late masks cost the others of a batch at most
0.16 ms a token."""


class Grammar(Protocol):
    """A constraint on the answer's form, advanced token by token."""

    def accept(self, tokens: Sequence[int]) -> None:
        """Advance by generated tokens, and begin the mask after them."""

    def wait(self, patience_s: float) -> bool:
        """Wait for the mask. Return whether `allowed` returns or raises at once."""

    def allowed(self) -> NDArray[np.bool_]:
        """Return a mask of the tokens that may come next, [vocab_size]. Raises GrammarError."""

    @property
    def duration_us(self) -> int:
        """Return the duration of that mask."""


class LogitsProcessor(Protocol):
    """A processor that changes a row of logits."""

    name: ProcessorName
    is_mask: bool
    """True when the processor removes tokens, and does nothing else."""

    def process(self, logits: Row, output: Sequence[int]) -> None:
        """Change logits [vocab_size] in place, given the tokens generated so far."""


def build_processors(
    params: SamplingParams,
    prompt: Sequence[int],
    piece: Piece,
    grammar: Grammar | None = None,
    thinking: ThinkingControl | None = None,
) -> list[LogitsProcessor]:
    """Return the enabled processors in their order of application."""
    processors: list[LogitsProcessor] = []
    if grammar is not None:
        processors.append(GrammarMask(grammar, thinking))
    if params.banned_token_ids:
        processors.append(BannedTokens(params.banned_token_ids))
    if params.logit_bias:
        processors.append(LogitBias(params))
    if params.repetition_penalty != 1 or params.frequency_penalty or params.presence_penalty:
        processors.append(Penalties(params, prompt))
    if params.dry_multiplier and params.dry_penalty_last_n:
        processors.append(Dry(params, piece))
    return processors


class GrammarMask:
    """Removes what the grammar does not allow; after its end only end-of-turn tokens are left.

    The grammar makes its mask elsewhere. A step waits for a mask, but after a late one not for the next masks. Thinking
    before the answer is free.
    """

    name: ProcessorName = "grammar"
    is_mask = True

    def __init__(self, grammar: Grammar, thinking: ThinkingControl | None = None) -> None:
        self._grammar = grammar
        self._thinking = thinking
        self._num_accepted = 0
        self._num_in_time = _NUM_IN_TIME

    @property
    def duration_us(self) -> int:
        """Duration of the last mask."""
        return self._grammar.duration_us

    def prepare(self, output: Sequence[int]) -> None:
        """Begin the mask after `output`."""
        if not self.applies(output):
            return
        if self._thinking is not None:
            self._num_accepted = max(self._num_accepted, self._thinking.num_before_answer)
        if tokens := output[self._num_accepted :]:
            self._num_accepted = len(output)
            self._grammar.accept(tokens)

    def applies(self, output: Sequence[int]) -> bool:
        """Return whether the token after `output` belongs to the answer."""
        return self._thinking is None or self._thinking.is_answering(output)

    def is_ready(self) -> bool:
        """Return whether the mask is there, or there will be none."""
        return self._grammar.wait(0)

    @property
    def is_waited_for(self) -> bool:
        """True: the last masks were in time, so that a step waits for the next one."""
        return self._num_in_time >= _NUM_IN_TIME

    def process(self, logits: Row, output: Sequence[int]) -> None:
        """Raises MaskPending, SamplingFailed."""
        self.prepare(output)
        if not self._grammar.wait(_PATIENCE_S if self.is_waited_for else 0):
            self._num_in_time = 0
            raise MaskPending
        self._num_in_time += 1
        try:
            allowed = self._grammar.allowed()
        except GrammarError as error:
            raise SamplingFailed(f"The grammar cannot continue: {error}", error.code) from None
        size = min(len(allowed), len(logits))  # tokenizer and model may know different numbers of tokens
        np.copyto(logits[:size], -np.inf, where=~allowed[:size])
        logits[size:] = -np.inf


class BannedTokens:
    """Removes tokens that must never be chosen."""

    name: ProcessorName = "banned_tokens"
    is_mask = True

    def __init__(self, ids: Sequence[int]) -> None:
        self._ids = np.array(ids, np.int64)

    def process(self, logits: Row, output: Sequence[int]) -> None:
        logits[self._ids] = -np.inf


class OnlyToken:
    """Leaves one token: the tag that ends or begins the thinking."""

    name: ProcessorName = "thinking"
    is_mask = True

    def __init__(self, token: int) -> None:
        self._token = token

    def process(self, logits: Row, output: Sequence[int]) -> None:
        logit = logits[self._token]
        logits[:] = -np.inf
        logits[self._token] = logit


class LogitBias:
    """Adds a constant to the logits of single tokens."""

    name: ProcessorName = "logit_bias"
    is_mask = False

    def __init__(self, params: SamplingParams) -> None:
        self._ids = np.array([entry.id for entry in params.logit_bias], np.int64)
        self._biases = np.array([entry.bias for entry in params.logit_bias], np.float32)

    def process(self, logits: Row, output: Sequence[int]) -> None:
        logits[self._ids] += self._biases


class Penalties:
    """The repetition penalty (CTRL, arXiv 1909.05858) on prompt and output; frequency and presence penalty (as in
    OpenAI's API) on the output alone."""

    name: ProcessorName = "penalties"
    is_mask = False

    def __init__(self, params: SamplingParams, prompt: Sequence[int]) -> None:
        self._repetition = np.float32(params.repetition_penalty)
        self._frequency = np.float32(params.frequency_penalty)
        self._presence = np.float32(params.presence_penalty)
        seen = np.unique(np.fromiter(prompt, np.int64)) if self._repetition != 1 else np.empty(0, np.int64)
        self._ids = seen
        self._times = np.zeros(len(seen), np.float32)
        """The number of times each of the ids occurs in the output."""
        self._index = {token: index for index, token in enumerate(seen.tolist())}
        self._num_counted = 0

    def process(self, logits: Row, output: Sequence[int]) -> None:
        for token in output[self._num_counted :]:
            self._count(token)
            self._num_counted += 1
        values = logits[self._ids]
        if self._repetition != 1:
            values = np.where(values > 0, values / self._repetition, values * self._repetition)
        values -= self._frequency * self._times + self._presence * (self._times > 0)
        logits[self._ids] = values

    def _count(self, token: int) -> None:
        index = self._index.setdefault(token, len(self._ids))
        if index == len(self._ids):
            self._ids = np.append(self._ids, token)
            self._times = np.append(self._times, np.float32(0))
        self._times[index] += 1
