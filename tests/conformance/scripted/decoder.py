"""A model that writes what the last user message tells it to write. Knows nothing of sampling, grammars and tools.

It stands in the engine where the network stands. So scheduler, prefix cache, sampler, grammar, guard and log are real,
and the choices that the bundled model is too weak for can be tested. Its price: it changes with the engine's interface.
Golden logs would skip sampler and grammar, a stub of the task the worker, and a remote server takes no tools.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.engine.engine import Engine
from inference.engine.model_runner import ModelRunner
from inference.kernels.library import Kernels
from inference.models.blocks import BLOCK_SIZE
from inference.models.config import ModelConfig
from inference.models.decoder import Chunk
from inference.models.sources.source import open_model
from inference.sampling.native_vocabulary import native_summarise
from inference.sampling.vocabulary import summarise
from inference.tokenization.tokenizer import Tokenizer

WRITE = "Write exactly this:\n"
"""What stands before the answer in the last user message."""
SLOWLY = "Write slowly this:\n"
"""In its place: a step then takes as long as that of a large model, so that a user can act in between."""
BACKWARDS = "Write this backwards:\n"
"""In its place: the answer is a text that the message does not hold."""
OTHERWISE = "Done."
"""The answer to a message without these words."""
_SLOW_STEP_S = 0.05
END_OF_THINKING = b"</think>"
_LOGIT = 30.0
"""Of the one token that the script has next; all others have 0."""
_MOST_CHARS = 200
"""Characters that the next token depends on. A step must not encode the whole rest of a long script."""
_BEGIN, _USER, _ASSISTANT = "<|im_start|>", b"user\n", b"assistant\n"


@dataclass(frozen=True)
class Tokens:
    """The cache: in place of keys and values, the ids themselves."""

    ids: NDArray[np.int64]  # [num_blocks, BLOCK_SIZE]

    @property
    def num_blocks(self) -> int:
        return len(self.ids)

    def copy_block(self, source: int, target: int) -> None:
        self.ids[target] = self.ids[source]


class ScriptedDecoder:
    """Gives the next token of the script by far the highest logit."""

    compute = "a script"
    device = "cpu"
    is_batch_invariant = True

    def __init__(self, config: ModelConfig, tokenizer: Tokenizer) -> None:
        self.config = config
        self._tokenizer = tokenizer
        self._begin = tokenizer.special_ids[_BEGIN]
        self._end = min(tokenizer.eos_ids)

    def build_cache(self, num_blocks: int) -> Tokens:
        return Tokens(np.zeros((num_blocks, BLOCK_SIZE), np.int64))

    def forward(self, chunks: list[Chunk], kv: Tokens) -> NDArray[np.float32]:
        ends = []
        for chunk in chunks:
            places = np.arange(chunk.start, chunk.end)
            kv.ids[np.asarray(chunk.block_table)[places // BLOCK_SIZE], places % BLOCK_SIZE] = chunk.ids
            read = kv.ids[list(chunk.block_table)].reshape(-1)
            ends += [read[:end].tolist() for end in range(chunk.end - chunk.num_logits + 1, chunk.end + 1)]
        logits = np.zeros((len(ends), self.config.vocab_size), np.float32)
        turns = [self._turns(ids) for ids in ends]
        for row, found in zip(logits, turns, strict=True):
            row[self._next(found)] = _LOGIT
        if any(SLOWLY in _asked(before) for *before, _ in turns):
            time.sleep(_SLOW_STEP_S)
        return logits

    def wait(self) -> None:
        pass

    def _next(self, turns: Sequence[bytes]) -> int:
        """The script's next token; the end where it is complete, or where the grammar left it."""
        *before, answer = turns
        script, written = _after_thinking(self._script(before), answer.removeprefix(_ASSISTANT))
        rest = script.removeprefix(written)
        if not rest or not script.startswith(written):
            return self._end
        return self._tokenizer.encode(rest.decode()[:_MOST_CHARS])[0]

    def _turns(self, ids: Sequence[int]) -> list[bytes]:
        """The text of each turn, its role first."""
        starts = [place for place, token in enumerate(ids) if token == self._begin]
        stretches = zip(starts, [*starts[1:], len(ids)], strict=True)
        return [b"".join(map(self._tokenizer.piece, ids[start + 1 : end])) for start, end in stretches]

    def _script(self, turns: Sequence[bytes]) -> bytes:
        text = _asked(turns).replace(SLOWLY, WRITE)
        return (text.partition(WRITE)[2] or text.partition(BACKWARDS)[2][::-1] or OTHERWISE).encode()


def _asked(turns: Sequence[bytes]) -> str:
    """The last message of the user."""
    said = next(turn for turn in reversed(turns) if turn.startswith(_USER))
    return said.removeprefix(_USER).decode().rstrip("\n")


def _after_thinking(script: bytes, written: bytes) -> tuple[bytes, bytes]:
    """Both without their thinking, once it has ended: the engine or the template may end it elsewhere."""
    if END_OF_THINKING not in script or END_OF_THINKING not in written:
        return script, written
    return script.partition(END_OF_THINKING)[2], written.partition(END_OF_THINKING)[2]


def load_scripted(
    path: Path,
    _num_threads: int,
    pieces: Tokenizer,
    _on_progress: Any,
    _cache: Any,
    kernels: Kernels | None,
    kv_bytes: int,
    **_: Any,
) -> Engine:
    """In place of `load_engine`. path: a model file, whose tokenizer, template and sizes are used."""
    chosen = summarise if kernels is None else native_summarise(kernels)
    return Engine(ModelRunner(ScriptedDecoder(open_model(path).config, pieces), kv_bytes), pieces, summarise=chosen)
