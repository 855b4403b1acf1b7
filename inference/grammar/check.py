"""Check that a constraint can be met, before the request is queued. Needs no model and no tokenizer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from inference.grammar.source import LIMITS, field_of, is_lenient, source, summary_of
from inference.grammar.vocabulary import kept_vocabulary
from inference.protocol.failures import GrammarError
from inference.protocol.request import Problem, SamplingParams
from inference.sandbox.kept_process import PATIENCE_S, Exceeded
from inference.sandbox.sandbox import SandboxError

_MAX_AT_ONCE = 2
"""Checks that compile at the same time; a few others wait."""
_MAX_WAITING = 4
"""Checks that wait for a turn. Each holds a thread of its process; further ones are told to come again."""
_TURN_S = 5.0
"""Longest wait for a turn: ten checks of half a second stand before it."""


class ChecksBusy(Exception):
    """Other checks took all turns; the same check succeeds later."""


class CheckFailed(Exception):
    """The process failed; the constraint is not to blame."""


class GrammarCheck:
    """Compiles constraints for a vocabulary of bytes, outside this process; any thread may use it."""

    def __init__(self, turn_s: float = _TURN_S, patience_s: float = PATIENCE_S) -> None:
        """turn_s: longest wait for a turn. patience_s: longest wait for the process."""
        self._vocabulary = kept_vocabulary(lambda: None, patience_s)
        self._places = threading.Semaphore(_MAX_AT_ONCE + _MAX_WAITING)
        self._turns = threading.Semaphore(_MAX_AT_ONCE)
        self._turn_s = turn_s

    def problem(self, params: SamplingParams) -> Problem | None:
        """Return the constraint's problem; None if it has none. Raises ChecksBusy, CheckFailed."""
        try:
            grammar = source(params)
            found = self._compile(grammar, is_lenient(params)) if grammar is not None else None
        except (GrammarError, Exceeded) as error:
            found = str(error)
        except SandboxError as error:
            raise CheckFailed(str(error)) from error
        return Problem(field_of(params), f"cannot be used: {found}; change it") if found else None

    def _compile(self, grammar: str, is_lenient: bool) -> str | None:
        """Return the problem that compiling shows. Raises Exceeded, ChecksBusy, SandboxError."""
        with self._turn(), closing(self._vocabulary.copy()) as copy:
            copy.send({"check": grammar, "limits": LIMITS, "is_lenient": is_lenient})
            problem: str | None = copy.receive()["problem"]
        return problem and summary_of(problem)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with _held(self._places, 0), _held(self._turns, self._turn_s):
            yield


@contextmanager
def _held(semaphore: threading.Semaphore, longest_s: float) -> Iterator[None]:
    """Hold one of the semaphore's places. Raises ChecksBusy where none is free in time."""
    if not semaphore.acquire(timeout=longest_s):
        raise ChecksBusy
    try:
        yield
    finally:
        semaphore.release()
