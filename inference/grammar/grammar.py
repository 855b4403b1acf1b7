"""Compiles constraints for one tokenizer and follows an answer through them, token by token.

Each answer's constraint has a process of its own, so that one that takes too much ends alone. Such a process makes the
next mask while the engine computes; the engine never waits for it long. A usual mask takes some 0.1 ms.
"""

from __future__ import annotations

import threading
import weakref
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.grammar.source import LIMITS, field_of, source, summary_of
from inference.grammar.vocabulary import kept_vocabulary
from inference.protocol.failures import GrammarError, GrammarProcessFailed, GrammarTooComplex
from inference.protocol.request import SamplingParams
from inference.sandbox.kept_process import PATIENCE_S, Copy, Exceeded
from inference.sandbox.sandbox import SandboxError
from inference.tokenization.tokenizer import Tokenizer


class _Replies:
    """The newest mask of a process, read by a thread of its own."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._changed = threading.Condition()
        self._num_awaited = 0
        self._newest: dict[str, Any] = {}
        self._failure: GrammarError | None = None

    def ask(self) -> None:
        with self._changed:
            self._num_awaited += 1
            self._changed.notify_all()

    def wait(self, patience_s: float | None) -> bool:
        """Wait for the reply to all jobs. Return whether it came, or none will."""
        with self._changed:
            return self._changed.wait_for(lambda: self._failure is not None or not self._num_awaited, patience_s)

    def newest(self) -> dict[str, Any]:
        """Raises GrammarError."""
        if self._failure is not None:
            raise self._failure
        return self._newest

    def read(self, copy: Copy) -> None:
        """Read until the process ends, or makes no mask."""
        while self._is_asked():
            newest, failure = self._receive(copy)
            with self._changed:
                self._newest, self._failure = newest, self._failure or failure
                self._num_awaited -= 1
                self._changed.notify_all()

    def end(self, copy: Copy) -> None:
        """End the process, and its reader."""
        copy.close()
        with self._changed:
            self._failure = self._failure or GrammarError("the answer has ended")
            self._changed.notify_all()

    def _is_asked(self) -> bool:
        """Wait for a job: a process that has none may be silent for hours. Return False when no more is to be read."""
        with self._changed:
            self._changed.wait_for(lambda: self._failure is not None or self._num_awaited)
            return self._failure is None

    def _receive(self, copy: Copy) -> tuple[dict[str, Any], GrammarError | None]:
        try:
            reply = copy.receive()
        except Exceeded as error:
            return {}, self._too_complex(str(error))
        except SandboxError as error:
            return {}, GrammarProcessFailed(f"the process for params.{self._field} failed: {error}. Try again.")
        if "mask" in reply:
            return reply, None
        text = summary_of(reply["stopped"])
        return {}, self._too_complex(text) if reply["is_complex"] else GrammarError(text)

    def _too_complex(self, why: str) -> GrammarTooComplex:
        return GrammarTooComplex(f"params.{self._field} is too complex: {why}. Simplify it, or repeat less often.")


class Grammar:
    """One answer's place in its grammar, kept by a process that ends with this object."""

    def __init__(self, copy: Copy, grammar: str, field: str, vocab_size: int) -> None:
        """field: the name of the setting."""
        self._copy = copy
        self._replies = _Replies(field)
        self._vocab_size = vocab_size
        self.close = weakref.finalize(self, self._replies.end, copy)
        threading.Thread(target=self._replies.read, args=(copy,), name="grammar", daemon=True).start()
        self._send({"compile": grammar, "limits": LIMITS})

    def accept(self, tokens: Sequence[int]) -> None:
        """Advance by generated tokens, and begin the mask after them."""
        self._send({"accept": list(tokens)})

    def wait(self, patience_s: float | None) -> bool:
        """Wait for the mask. Return whether it is there, or there will be none."""
        return self._replies.wait(patience_s)

    def allowed(self) -> NDArray[np.bool_]:
        """Return a mask of the tokens that may come next; at the grammar's end, the end-of-turn tokens. [vocab_size].

        Raises GrammarError when a token was not allowed or the grammar has become too complex.
        """
        self.wait(None)
        bits = np.frombuffer(b64decode(self._replies.newest()["mask"]), np.uint8)
        return np.unpackbits(bits, count=self._vocab_size, bitorder="little").view(np.bool_)

    @property
    def duration_us(self) -> int:
        """Return the duration of the newest mask."""
        return int(self._replies.newest()["us"])

    def _send(self, job: dict[str, Any]) -> None:
        self._replies.ask()
        self._copy.send(job)


class Grammars:
    """Compiles for one tokenizer; any thread may use it."""

    def __init__(self, tokenizer: Tokenizer, patience_s: float = PATIENCE_S) -> None:
        """patience_s: longest wait for a mask."""
        self._tokenizer = tokenizer
        self._vocabulary = kept_vocabulary(self._described, patience_s)

    def compile(self, params: SamplingParams) -> Grammar | None:
        """Compile a request's constraint; None without one. Raises GrammarError."""
        grammar = source(params)
        if grammar is None:
            return None
        try:
            copy = self._vocabulary.copy()
        except SandboxError as error:
            raise GrammarProcessFailed(f"the process for it cannot be started: {error}. Try again.") from error
        compiled = Grammar(copy, grammar, field_of(params), self._tokenizer.vocab_size)
        try:
            compiled.allowed()
        except BaseException:
            compiled.close()
            raise
        return compiled

    def _described(self) -> dict[str, Any]:
        tokenizer = self._tokenizer
        return {"tokenizer": tokenizer.to_json(), "size": tokenizer.vocab_size, "ends": sorted(tokenizer.eos_ids)}
