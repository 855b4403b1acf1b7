"""The decoder on the kernels: one call per step, for quantised models on CPUs that have them.

A token's results are the same bit by bit, whatever is computed beside it: alone or in a batch, in one chunk or in many.
They do depend on whether the token belongs to a prompt: prompts have a form of the weights that is faster for many
rows, unless that form was left out.
"""

from __future__ import annotations

import mmap
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.kernels.library import Batch, Kernels, Layer, Matrix, Model
from inference.models.blocks import block_bytes
from inference.models.config import ModelConfig
from inference.models.decoder import Chunk
from inference.models.weights.native_weights import Arrays, num_outputs, span_of
from inference.models.weights.packed_cache import HUGE_PAGE, ask_for_huge_pages, is_mapped, let_go

_CACHE_LINE = 64
_NORMS = ("attention_norm", "mlp_norm", "post_attention_norm", "post_mlp_norm", "query_norm", "key_norm")


def _allocate(num_bytes: int) -> NDArray[np.uint8]:
    """Return zeros, in huge pages where the system has them, taken as they are touched."""
    memory = mmap.mmap(-1, num_bytes + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    ask_for_huge_pages(memory)
    whole = np.frombuffer(memory, np.uint8)
    start = -whole.ctypes.data % HUGE_PAGE
    return whole[start : start + num_bytes]


def _place(arrays: Arrays) -> dict[str, NDArray[np.uint8]]:
    """Return their bytes, each array in whole cache lines: a load across two lines costs twice.

    A prompt's products are bound by arithmetic, so prompts' tiles stay in the mapped file: no copy, no memory that
    other processes cannot share. Decoding is bound by bandwidth, so its tiles are copied to huge pages, which few file
    systems have. This empties `arrays`: each goes as soon as it is copied. So memory never holds all of them twice.
    """
    stay = [name for name, array in arrays.items() if name.endswith(".prompt") and is_mapped(array)]
    placed = {name: arrays.pop(name) for name in stay}
    sizes = [-(-array.nbytes // _CACHE_LINE) * _CACHE_LINE for array in arrays.values()]
    memory = _allocate(sum(sizes))
    for name, start in zip(list(arrays), accumulate(sizes, initial=0), strict=False):
        array = arrays.pop(name)
        placed[name] = memory[start : start + array.nbytes]
        placed[name][:] = array.reshape(-1).view(np.uint8)
        let_go(array)
    return placed


class NativeCache:
    """Keys and values in bfloat16, block by block: [num_blocks][layers][heads][keys, values]; see attention.h."""

    def __init__(self, config: ModelConfig, num_blocks: int) -> None:
        self.num_blocks = num_blocks
        self.memory = _allocate(num_blocks * block_bytes(config)).reshape(num_blocks, -1)

    def copy_block(self, source: int, target: int) -> None:
        """Copy one block in all layers, for a sequence that is about to write to a shared one."""
        self.memory[target] = self.memory[source]


class NativeDecoder:
    """See decoder.Decoder."""

    is_batch_invariant = True
    device = "cpu"

    def __init__(self, config: ModelConfig, weights: Arrays, kernels: Kernels) -> None:
        """weights: from load_native; the decoder takes them out of the dictionary."""
        self.config = config
        self._kernels = kernels
        self._weights = _place(weights)
        self._has_prompt_form = any(name.endswith(".prompt") for name in self._weights)
        self._frequencies = [np.array(config.rope_frequencies(is_sliding)) for is_sliding in self._rotations()]
        self._model = self._build_model()
        self._logits = np.empty((0, config.vocab_size), np.float32)
        bits = sorted({int(name.rpartition(".")[2]) for name in self._weights if name[-2:] in (".4", ".8")})
        formats = " and ".join(f"int{width}" for width in bits)
        self.compute = f"{formats} in groups of 32 by int8 activations ({kernels.label}), attention in bfloat16"

    def build_cache(self, num_blocks: int) -> NativeCache:
        return NativeCache(self.config, num_blocks)

    def wait(self) -> None:
        """See decoder.Decoder."""

    def forward(self, chunks: list[Chunk], kv: NativeCache) -> NDArray[np.float32]:
        """See decoder.Decoder."""
        order = sorted(range(len(chunks)), key=lambda index: self._is_prompt(chunks[index]))
        logits = self._compute([chunks[index] for index in order], kv)
        if order == sorted(order):
            return logits
        ends = accumulate(chunks[index].num_logits for index in order)
        rows = {index: range(end - chunks[index].num_logits, end) for index, end in zip(order, ends, strict=True)}
        return logits[[row for index in range(len(chunks)) for row in rows[index]]]

    def _is_prompt(self, chunk: Chunk) -> bool:
        return chunk.is_prompt and self._has_prompt_form

    def _compute(self, chunks: list[Chunk], kv: NativeCache) -> NDArray[np.float32]:
        """Compute chunks of which the prompts come last."""
        lengths = [len(chunk.ids) for chunk in chunks]
        starts = list(accumulate(lengths, initial=0))
        num_decoded = starts[sum(not self._is_prompt(chunk) for chunk in chunks)]
        positions = np.concatenate([np.arange(chunk.start, chunk.end, dtype=np.int32) for chunk in chunks])
        rows = _logit_rows(chunks, starts)
        logits = self._room_for(len(rows))
        arrays = {
            "ids": _int32([token for chunk in chunks for token in chunk.ids]),
            "positions": positions,
            "chunks": np.repeat(np.arange(len(chunks), dtype=np.int32), lengths),
            "starts": _int32(starts),
            "tables": _int32([block for chunk in chunks for block in chunk.block_table]),
            "table_at": _int32(list(accumulate((len(chunk.block_table) for chunk in chunks), initial=0))),
            "logit_rows": _int32(rows),
            "rotations": self._turn(positions),
            "cache": kv.memory,
            "logits": logits,
        }
        addresses = {name: array.ctypes.data for name, array in arrays.items()}
        self._kernels.forward(self._model, Batch(len(positions), len(chunks), len(rows), num_decoded, **addresses))
        return logits

    def _room_for(self, num_rows: int) -> NDArray[np.float32]:
        if len(self._logits) < num_rows:
            self._logits = np.empty((num_rows, self.config.vocab_size), np.float32)
        return self._logits[:num_rows]

    def _turn(self, positions: NDArray[np.int32]) -> NDArray[np.float32]:
        """[rotations, num_tokens, 2, head_dim]: factors of each number of a head and of its partner; see forward.h."""
        half, is_adjacent = self.config.head_dim // 2, self.config.rope_pairing == "adjacent"
        turned = np.empty((len(self._frequencies), len(positions), 2, 2 * half), np.float32)
        firsts, seconds = (slice(0, None, 2), slice(1, None, 2)) if is_adjacent else (slice(half), slice(half, None))
        for kind, frequencies in enumerate(self._frequencies):
            angles = np.multiply.outer(positions, frequencies)
            own, partner = turned[kind, :, 0], turned[kind, :, 1]
            own[:, firsts] = own[:, seconds] = np.cos(angles)
            partner[:, seconds] = np.sin(angles)
            partner[:, firsts] = -partner[:, seconds]
        return turned

    def _rotations(self) -> list[bool]:
        """Return the kinds of rotation in use; True: that of sliding layers."""
        return [False, True] if self.config.sliding_layers else [False]

    def _build_model(self) -> Model:
        config, weights = self.config, self._weights
        head = "head" if any(name.startswith("head.") for name in weights) else "embedding"
        self._layers = (Layer * config.num_layers)(*[self._build_layer(layer) for layer in range(config.num_layers)])
        return Model(
            num_layers=config.num_layers,
            hidden=config.hidden_size,
            intermediate=config.intermediate_size,
            num_heads=config.num_heads,
            num_kv_heads=config.num_kv_heads,
            head_dim=config.head_dim,
            vocab_size=config.vocab_size,
            is_gelu=config.activation == "gelu_tanh",
            rotates_adjacent=config.rope_pairing == "adjacent",
            norm_eps=config.norm_eps,
            embedding_scale=config.embedding_scale,
            query_scale=config.query_scale,
            attention_softcap=config.attention_softcap or 0,
            logit_softcap=config.logit_softcap or 0,
            layers=self._layers,
            norm=weights["norm"].ctypes.data,
            embedding=self._matrix("embedding", config.hidden_size),
            head=self._matrix(head, config.hidden_size),
        )

    def _build_layer(self, layer: int) -> Layer:
        config, prefix = self.config, f"{layer}."
        found: dict[str, Any] = {
            name: self._weights[prefix + name].ctypes.data for name in _NORMS if prefix + name in self._weights
        }
        return Layer(
            rotation=int(layer in config.sliding_layers),
            window=config.window_of(layer) or 0,
            qkv=self._matrix(f"{prefix}qkv", config.hidden_size),
            output=self._matrix(f"{prefix}output", config.num_heads * config.head_dim),
            gate_up=self._matrix(f"{prefix}gate_up", config.hidden_size),
            down=self._matrix(f"{prefix}down", config.intermediate_size),
            **found,
        )

    def _matrix(self, name: str, num_in: int) -> Matrix:
        bits = 4 if f"{name}.4" in self._weights else 8
        tiles, bias = self._weights[f"{name}.{bits}"], self._weights.get(f"{name}.bias")
        prompt, num_out = self._weights.get(f"{name}.prompt"), num_outputs(self.config, name.rpartition(".")[2])
        return Matrix(
            num_in=num_in,
            num_out=num_out,
            bits=bits,
            tile_bytes=tiles.nbytes // -(-num_out // 16),
            tiles=tiles.ctypes.data,
            span=span_of(num_in),
            prompt_tiles=prompt.ctypes.data if prompt is not None else None,
            bias=bias.ctypes.data if bias is not None else None,
        )


def _logit_rows(chunks: list[Chunk], starts: list[int]) -> list[int]:
    """Return the rows of the step's tokens that are to have logits."""
    ends = zip(chunks, starts[1:], strict=True)
    return [end - left for chunk, end in ends for left in range(chunk.num_logits, 0, -1)]


def _int32(values: list[int]) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32)
