"""Check that a constraint can be met, before the request is queued. Needs no model and no tokenizer."""

from __future__ import annotations

from typing import Any

from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

from inference.grammar.source import LIMITS, GrammarError, source, summary_of
from inference.protocol.request import Problem, SamplingParams

_END = 256
"""The id after those of the 256 bytes."""


class _Bytes:
    """The smallest vocabulary: every byte, and an end."""

    eos_token_id = _END
    bos_token_id = None
    tokens = (*(bytes([byte]) for byte in range(256)), b"<end>")
    special_token_ids = (_END,)

    def __call__(self, text: bytes) -> list[int]:
        return list(text)


class GrammarCheck:
    """Tests constraints on a vocabulary of bytes; any thread may use it."""

    def __init__(self) -> None:
        wrapper: Any = TokenizerWrapper(_Bytes())
        self._tokenizer = LLTokenizer(wrapper, slices=[])

    def problem(self, params: SamplingParams) -> Problem | None:
        """Return the constraint's problem; None if it has none."""
        field = "json_schema" if params.json_schema is not None else "regex"
        try:
            grammar = source(params)
        except GrammarError as error:
            return Problem(field, f"cannot be used: {error}; change it")
        if grammar is None:
            return None
        is_error, notes = LLMatcher.validate_grammar_with_warnings(grammar, self._tokenizer, limits=LIMITS)
        if is_error or notes:
            return Problem(field, f"cannot be used: {summary_of(notes[0])}; change it")
        matcher = LLMatcher(self._tokenizer, grammar, log_level=0, limits=LIMITS)
        matcher.compute_bitmask()
        if matcher.is_error():
            return Problem(field, "cannot be used: no text satisfies it; change it")
        return None
