"""Check that a constraint can be met, before the request is queued. Needs no model and no tokenizer."""

from __future__ import annotations

import threading
from contextlib import closing

from inference.grammar.source import LIMITS, field_of, source, summary_of
from inference.grammar.vocabulary import Exceeded, Vocabulary
from inference.protocol.failures import GrammarError
from inference.protocol.request import Problem, SamplingParams
from inference.sandbox.sandbox import SandboxError

_MAX_AT_ONCE = 2
"""Checks that compile at the same time; the others wait."""


class GrammarCheck:
    """Compiles constraints for a vocabulary of bytes, outside this process; any thread may use it."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary(lambda: None)
        self._turns = threading.Semaphore(_MAX_AT_ONCE)

    def problem(self, params: SamplingParams) -> Problem | None:
        """Return the constraint's problem; None if it has none."""
        try:
            grammar = source(params)
            found = self._compile(grammar) if grammar is not None else None
        except (GrammarError, Exceeded, SandboxError) as error:
            found = str(error)
        return Problem(field_of(params), f"cannot be used: {found}; change it") if found else None

    def _compile(self, grammar: str) -> str | None:
        """Return the problem that compiling shows. Raises Exceeded, SandboxError."""
        with self._turns, closing(self._vocabulary.copy()) as copy:
            copy.send({"check": grammar, "limits": LIMITS})
            problem: str | None = copy.receive()["problem"]
        return problem and summary_of(problem)
