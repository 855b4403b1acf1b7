"""The compiled kernels for Python: structures, a team of threads, two functions. Knows nothing of models."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from ctypes import POINTER, Structure, c_float, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inference.kernels.forms import NoKernels

GROUP = 32
"""Inputs that share a scale; see matrix.h."""
TILE = 16
"""Outputs that are computed together."""
BLOCK = 16
"""Tokens in a block of keys and values; see attention.h."""


class CannotLoad(NoKernels):
    """The system does not load the library: it is for another system, or for another processor."""


class Matrix(Structure):
    """See matrix.h."""

    _fields_ = (
        ("num_in", c_int32),
        ("num_out", c_int32),
        ("bits", c_int32),
        ("span", c_int32),
        ("tile_bytes", c_int64),
        ("tiles", c_void_p),
        ("prompt_tiles", c_void_p),
        ("bias", c_void_p),
    )


class Layer(Structure):
    """See forward.h."""

    _fields_ = (
        ("attention_norm", c_void_p),
        ("mlp_norm", c_void_p),
        ("post_attention_norm", c_void_p),
        ("post_mlp_norm", c_void_p),
        ("query_norm", c_void_p),
        ("key_norm", c_void_p),
        ("rotation", c_int64),
        ("window", c_int64),
        ("qkv", Matrix),
        ("output", Matrix),
        ("gate_up", Matrix),
        ("down", Matrix),
    )


class Model(Structure):
    """See forward.h."""

    _fields_ = (
        ("num_layers", c_int64),
        ("hidden", c_int64),
        ("intermediate", c_int64),
        ("num_heads", c_int64),
        ("num_kv_heads", c_int64),
        ("head_dim", c_int64),
        ("vocab_size", c_int64),
        ("is_gelu", c_int64),
        ("rotates_adjacent", c_int64),
        ("norm_eps", c_float),
        ("embedding_scale", c_float),
        ("query_scale", c_float),
        ("attention_softcap", c_float),
        ("logit_softcap", c_float),
        ("reserved", c_float),
        ("layers", POINTER(Layer)),
        ("norm", c_void_p),
        ("embedding", Matrix),
        ("head", Matrix),
    )


class Batch(Structure):
    """See forward.h."""

    _fields_ = (
        ("num_tokens", c_int64),
        ("num_chunks", c_int64),
        ("num_logits", c_int64),
        ("num_decoded", c_int64),
        ("ids", c_void_p),
        ("positions", c_void_p),
        ("chunks", c_void_p),
        ("starts", c_void_p),
        ("tables", c_void_p),
        ("table_at", c_void_p),
        ("logit_rows", c_void_p),
        ("rotations", c_void_p),
        ("cache", c_void_p),
        ("logits", c_void_p),
    )


SUMMARY = np.dtype(
    [
        ("is_finite", "i4"),
        ("num_candidates", "i4"),
        ("num_sorted", "i4"),
        ("reserved", "i4"),
        ("log_normalizer", "f8"),
        ("entropy", "f8"),
        ("scaled_log_normalizer", "f8"),
        ("scaled_entropy", "f8"),
    ]
)
"""See vocabulary.h."""


class Summaries(NamedTuple):
    """The results of summarise; in ids and logits, each row's first num_sorted entries are valid."""

    rows: NDArray[np.void]
    """[num_rows] of SUMMARY."""
    ids: NDArray[np.int32]
    logits: NDArray[np.float32]


class Kernels:
    """One form's library and its team of threads; one thread at a time may call it."""

    def __init__(self, path: Path, label: str, num_threads: int) -> None:
        """path: of the compiled library. label: its instruction set, as users read it. Raises NoKernels."""
        self.label = label
        self._library = _load(path)
        self._library.team_create.restype = c_void_p
        self._library.team_destroy.argtypes = [c_void_p]
        self._library.forward.argtypes = [c_void_p, POINTER(Model), POINTER(Batch)]
        self._library.summarise.argtypes = [c_void_p, c_void_p, c_void_p, *[c_int64] * 3, *[c_void_p] * 3]
        self.has_prompt_form = bool(self._library.has_prompt_form())
        """True: prompts are computed by prompt_matrix.h where the model has that form."""
        self._team: int | None = self._library.team_create(num_threads)
        if self._team is None:
            raise NoKernels(f"{num_threads} threads cannot be had")

    def close(self) -> None:
        """End the threads; the object cannot be used afterwards."""
        if self._team is not None:
            self._library.team_destroy(self._team)
            self._team = None

    def forward(self, model: Model, batch: Batch) -> None:
        """Compute one step. Raises MemoryError."""
        if self._library.forward(self._team, ctypes.byref(model), ctypes.byref(batch)):
            raise MemoryError(f"no memory to compute {batch.num_tokens} tokens in one step")

    def summarise(self, logits: NDArray[np.float32], temperatures: Sequence[float], num_sorted: int) -> Summaries:
        """Summarise each row. logits: [num_rows, vocab_size], contiguous. Raises MemoryError."""
        num_rows, vocab_size = logits.shape
        num_sorted = min(num_sorted, vocab_size)
        rows = np.empty(num_rows, SUMMARY)
        ids = np.empty((num_rows, num_sorted), np.int32)
        firsts = np.empty((num_rows, num_sorted), np.float32)
        scales = np.array(temperatures, np.float64)
        addresses = [array.ctypes.data for array in (logits, scales, rows, ids, firsts)]
        if self._library.summarise(self._team, *addresses[:2], num_rows, vocab_size, num_sorted, *addresses[2:]):
            raise MemoryError("no memory to read the logits")
        return Summaries(rows, ids, firsts)


def _load(path: Path) -> ctypes.CDLL:
    """Load the library. Raises CannotLoad, and removes a file that cannot be loaded."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        with suppress(OSError):  # a folder that may only be read
            path.unlink()
        raise CannotLoad(f"they cannot be loaded: {error}") from error
