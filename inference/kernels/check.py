"""`python -m inference.kernels.check LIBRARY REFERENCE`: compares two forms' results; status 1 where they differ.

Runs in a process of its own, which may die of an instruction that the CPU lacks. The model is a small random one that
takes every path: weights of 4 and 8 bits, a prompt beside decoded tokens, both activations, window, caps and biases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.kernels.library import BLOCK, GROUP, TILE, Batch, Kernels, Layer, Matrix, Model

_HIDDEN, _WIDE, _HEADS, _KV_HEADS, _HEAD_DIM, _VOCAB, _LAYERS, _SPAN = 192, 384, 6, 2, 32, 203, 2, 192
_QKV = (_HEADS + 2 * _KV_HEADS) * _HEAD_DIM
_DECODED, _PROMPT, _CONTEXT = 3, 20, 21
_BOUND = 0.02
"""Of the logits' root mean square. Sums of another order round some activations to the neighbouring code."""


class _Case:
    """One model and one step."""

    def __init__(self, is_gelu: bool) -> None:
        self._random, self._kept = np.random.default_rng(7), list[Any]()
        layers = [self._layer(bits) for bits in (4, 8)]
        self.logits = np.zeros((_DECODED + 2, _VOCAB), np.float32)
        self._layers = (Layer * _LAYERS)(*layers)
        self.model = Model(
            num_layers=_LAYERS, hidden=_HIDDEN, intermediate=_WIDE, num_heads=_HEADS, num_kv_heads=_KV_HEADS,
            head_dim=_HEAD_DIM, vocab_size=_VOCAB, is_gelu=is_gelu, rotates_adjacent=is_gelu, norm_eps=1e-5,
            embedding_scale=1, query_scale=_HEAD_DIM**-0.5, attention_softcap=20 if is_gelu else 0,
            logit_softcap=30 if is_gelu else 0, layers=self._layers, norm=self._floats(_HIDDEN),
            embedding=self._matrix(_HIDDEN, _VOCAB, 8), head=self._matrix(_HIDDEN, _VOCAB, 8),
        )  # fmt: skip

    def step(self, kernels: Kernels, with_prompt_form: bool) -> NDArray[np.float32]:
        """Return the step's logits. Prompts' weights are others here, as all are random."""
        lengths = [1] * _DECODED + [_PROMPT]
        num_tokens, starts = sum(lengths), np.cumsum([0, *lengths], dtype=np.int32)
        positions = np.array([_CONTEXT + 7 * i for i in range(_DECODED)] + list(range(_PROMPT)), np.int32)
        cache = self._cache(4 * 3)
        arrays = {
            "ids": np.arange(num_tokens, dtype=np.int32) % _VOCAB,
            "positions": positions,
            "chunks": np.repeat(np.arange(len(lengths), dtype=np.int32), lengths),
            "starts": starts,
            "tables": np.arange(4 * 3, dtype=np.int32)[::-1].copy(),
            "table_at": np.arange(4, dtype=np.int32) * 3,
            "logit_rows": np.array([*range(_DECODED), num_tokens - 2, num_tokens - 1], np.int32),
            "rotations": np.stack([f(np.outer(positions, np.arange(_HEAD_DIM // 2))) for f in (np.cos, np.sin)], -1),
            "cache": cache,
            "logits": self.logits,
        }
        arrays["rotations"] = arrays["rotations"].astype(np.float32)
        num_decoded = _DECODED if with_prompt_form else num_tokens
        addresses = {name: array.ctypes.data for name, array in arrays.items()}
        kernels.forward(self.model, Batch(num_tokens, len(lengths), len(self.logits), num_decoded, **addresses))
        return self.logits.copy()

    def _cache(self, num_blocks: int) -> NDArray[np.uint16]:
        size = _LAYERS * _KV_HEADS * 2 * BLOCK * _HEAD_DIM
        floats = np.random.default_rng(8).standard_normal((num_blocks, size)).astype(np.float32)
        return (floats.view(np.uint32) >> 16).astype(np.uint16)

    def _layer(self, bits: int) -> Layer:
        norms = {f"{name}_norm": self._floats(_HIDDEN) for name in ("attention", "mlp", "post_attention", "post_mlp")}
        heads = {f"{name}_norm": self._floats(_HEAD_DIM) for name in ("query", "key")}
        return Layer(
            rotation=0,
            window=11 if bits == 8 else 0,
            qkv=self._matrix(_HIDDEN, _QKV, bits, self._floats(_QKV)),
            output=self._matrix(_HEADS * _HEAD_DIM, _HIDDEN, bits),
            gate_up=self._matrix(_HIDDEN, 2 * _WIDE, bits),
            down=self._matrix(_WIDE, _HIDDEN, bits),
            **norms,
            **heads,
        )

    def _matrix(self, num_in: int, num_out: int, bits: int, bias: int | None = None) -> Matrix:
        num_tiles, groups = -(-num_out // TILE), num_in // GROUP
        tiles = self._with_scales((num_tiles, groups), TILE * GROUP * bits // 8, bits)
        fours = -(-num_tiles // 4)
        prompt = self._with_scales((fours,), 4 * TILE * num_in, 32, 2 * num_in // _SPAN * 4 * TILE)
        return Matrix(
            num_in=num_in, num_out=num_out, bits=bits, span=_SPAN, tile_bytes=tiles.nbytes // num_tiles,
            tiles=self._keep(tiles), prompt_tiles=self._keep(prompt), bias=bias,
        )  # fmt: skip

    def _with_scales(self, shape: tuple[int, ...], num_codes: int, bits: int, num_scales: int = TILE) -> NDArray[Any]:
        """Random codes, and behind them scales; and minima where a code has 4 bits."""
        codes = self._random.integers(1, 256, (*shape, num_codes), np.uint8)
        scales = self._random.uniform(0.5, 1, (*shape, num_scales)).astype(np.float32) / 1000
        if bits == 4:
            halves = np.concatenate([scales * 16, scales * -120], axis=-1).astype(np.float16)
            return np.concatenate([codes, halves.view(np.uint8)], axis=-1)
        return np.concatenate([codes, scales.view(np.uint8)], axis=-1)

    def _floats(self, size: int) -> int:
        return self._keep(self._random.uniform(0.5, 1.5, size).astype(np.float32))

    def _keep(self, array: NDArray[Any]) -> int:
        whole = np.empty(array.nbytes + 64, np.uint8)
        start = -whole.ctypes.data % 64
        aligned = whole[start : start + array.nbytes]
        aligned[:] = array.reshape(-1).view(np.uint8)
        self._kept.append(whole)
        return int(aligned.ctypes.data)


def differences(library: Path, reference: Path) -> Iterator[tuple[str, float]]:
    """Yield what was compared and how far it differs, as a share of the reference's root mean square."""
    ours, theirs = (Kernels(path, "", num_threads=2) for path in (library, reference))
    for is_gelu in (False, True):
        case = _Case(is_gelu)
        got, expected = (case.step(kernels, ours.has_prompt_form) for kernels in (ours, theirs))
        yield f"logits ({'gelu' if is_gelu else 'silu'})", _rms(got - expected) / _rms(expected)
    summaries = [kernels.summarise(got, [0.7] * len(got), 40) for kernels in (ours, theirs)]
    yield "first candidates", float(np.abs(summaries[0].logits - summaries[1].logits).max())
    names = ("log_normalizer", "entropy", "scaled_log_normalizer", "scaled_entropy")
    for name in names:
        yield name, float(np.abs(summaries[0].rows[name] - summaries[1].rows[name]).max())


def _rms(values: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


def main(library: str, reference: str) -> None:
    for name, difference in differences(Path(library), Path(reference)):
        print(f"{name}: {difference:.1e}")
        if not difference < _BOUND:  # a NaN neither
            raise SystemExit(f"{name} differ by {difference:.1e}")


if __name__ == "__main__":
    main(*sys.argv[1:])
