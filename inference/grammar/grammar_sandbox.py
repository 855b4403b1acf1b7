"""The work of the process that compiles a constraint and makes its masks: see `kept_vocabulary` and `Grammar`.

A process reads a vocabulary once. Each copy of it then serves one constraint. The jobs and their replies:

    {"vocabulary": {...} or null}       {}; null: the 256 bytes and an end
    {"check": grammar, "limits": {}, "is_lenient": true}
                                        {"problem": why the grammar cannot be kept to, or null}
    {"compile": grammar, "limits": {}}  the first mask
    {"accept": tokens}                  the mask after them

A mask is {"mask": one bit per token as base64, "us": its duration}, or {"stopped": why there is none, "is_complex": is
the grammar too complex}. Imports nothing of the project.

The work is llguidance's: an Earley parser over lazily built derivatives of regular expressions, walked along a trie of
the vocabulary.
"""

from __future__ import annotations

import time
from base64 import b64encode
from typing import Any

from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper

_END = 256
"""The id after those of the 256 bytes."""
_TOO_COMPLEX = ("too many", "too big")
"""The words of the library for a bound of its own that was met; its stop reason does not tell."""


class Bytes:
    """The smallest vocabulary: every byte, and an end."""

    eos_token_id = _END
    bos_token_id = None
    tokens = (*(bytes([byte]) for byte in range(256)), b"<end>")
    special_token_ids = (_END,)

    def __call__(self, text: bytes) -> list[int]:
        return list(text)


class Work:
    """Holds a vocabulary, and in a copy one constraint."""

    def __init__(self) -> None:
        self._vocabulary: LLTokenizer | None = None
        self._matcher: LLMatcher | None = None

    def answer(self, job: dict[str, Any]) -> dict[str, Any]:
        if "vocabulary" in job:
            self._vocabulary = _read(job["vocabulary"])
            return {}
        if "check" in job:
            limits = LLParserLimits(**job["limits"])
            return {"problem": self._problem(job["check"], limits, job["is_lenient"])}
        if "compile" in job:
            self._matcher = self._compiled(job["compile"], LLParserLimits(**job["limits"]))
        else:
            assert self._matcher is not None
            self._matcher.consume_tokens(job["accept"])
        return _mask(self._matcher)

    def _problem(self, grammar: str, limits: LLParserLimits, is_lenient: bool) -> str | None:
        is_error, notes = LLMatcher.validate_grammar_with_warnings(grammar, self._vocabulary, limits=limits)
        if is_error or (notes and not is_lenient):
            return notes[0]
        matcher = self._compiled(grammar, limits)
        matcher.compute_bitmask()
        return "no text satisfies it" if matcher.is_error() else None

    def _compiled(self, grammar: str, limits: LLParserLimits) -> LLMatcher:
        assert self._vocabulary is not None
        return LLMatcher(self._vocabulary, grammar, log_level=0, limits=limits)


def _read(vocabulary: dict[str, Any] | None) -> LLTokenizer:
    if vocabulary is None:
        wrapper: Any = TokenizerWrapper(Bytes())
        return LLTokenizer(wrapper, slices=[])
    return LLTokenizer(vocabulary["tokenizer"], n_vocab=vocabulary["size"], eos_token=vocabulary["ends"])


def _mask(matcher: LLMatcher) -> dict[str, Any]:
    start = time.perf_counter_ns()
    mask = b"" if matcher.is_error() else matcher.compute_bitmask()
    if matcher.is_error():
        error = matcher.get_error()
        return {"stopped": error, "is_complex": any(words in error.lower() for words in _TOO_COMPLEX)}
    return {"mask": b64encode(mask).decode(), "us": (time.perf_counter_ns() - start) // 1000}
