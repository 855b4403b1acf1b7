"""Compiles constraints for one tokenizer and follows an answer through them, token by token.

The work is llguidance's: an Earley parser over lazily built derivatives of regular expressions, walked along a trie of
the vocabulary, so that a mask takes some ten µs whatever the grammar's size.
"""

from __future__ import annotations

import threading

import numpy as np
from llguidance import LLMatcher, LLTokenizer
from numpy.typing import NDArray

from inference.grammar.source import LIMITS, GrammarError, source, summary_of
from inference.protocol.request import SamplingParams
from inference.tokenization.tokenizer import Tokenizer


class Grammar:
    """One answer's place in its grammar."""

    def __init__(self, matcher: LLMatcher, vocab_size: int) -> None:
        self._matcher = matcher
        self._vocab_size = vocab_size
        self._bits = np.zeros((vocab_size + 31) // 32 * 4, np.uint8)

    def accept(self, token: int) -> None:
        """Advance by one generated token."""
        self._matcher.consume_token(token)

    def allowed(self) -> NDArray[np.bool_]:
        """Return a mask of the tokens that may come next; at the grammar's end, the end-of-turn tokens. [vocab_size].

        Raises ValueError when a token was not allowed or the grammar has become too complex.
        """
        self._matcher.unsafe_compute_mask_ptr(self._bits.ctypes.data, self._bits.nbytes)
        if self._matcher.is_error():
            raise ValueError(summary_of(self._matcher.get_error()))
        return np.unpackbits(self._bits, count=self._vocab_size, bitorder="little").view(np.bool_)

    def fork(self) -> Grammar:
        """Return a copy at the same place, for another answer."""
        return Grammar(self._matcher.deep_copy(), self._vocab_size)


class Grammars:
    """Compiles for one tokenizer; any thread may use it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._compiled: LLTokenizer | None = None
        self._lock = threading.Lock()

    def compile(self, params: SamplingParams) -> Grammar | None:
        """Compile a request's constraint; None without one. Raises GrammarError."""
        grammar = source(params)
        if grammar is None:
            return None
        matcher = LLMatcher(self._vocabulary(), grammar, log_level=0, limits=LIMITS)
        if matcher.is_error():
            raise GrammarError(summary_of(matcher.get_error()))
        return Grammar(matcher, self._tokenizer.vocab_size)

    def _vocabulary(self) -> LLTokenizer:
        """Return the vocabulary, built for the first constraint: it takes 0.25 s, which most workers never need."""
        with self._lock:
            if self._compiled is None:
                self._compiled = LLTokenizer(
                    self._tokenizer.to_json(),
                    n_vocab=self._tokenizer.vocab_size,
                    eos_token=sorted(self._tokenizer.eos_ids),
                )
            return self._compiled
