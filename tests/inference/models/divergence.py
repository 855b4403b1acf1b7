"""How far a decoder's distribution lies from float's, and llama.cpp's own from it on the same file, on a fixed text.

python -m tests.inference.models.divergence [MODEL.gguf]     prints the figures of every way of computing
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from inference.models.decoder import Chunk, Decoder, load_decoder
from inference.models.sources.source import open_model
from tests.inference.tokenization.peer import llama_cpp

TEXT = (
    "The old lighthouse keeper counted 42 ships that night, and wrote each name into his book before he slept. "
    "In the morning the fog had not lifted. He boiled water, cut two slices of bread, and looked for the ferry. "
    "By noon the wind had turned and the first boats came home, low in the water, their decks silver with herring. "
    "A girl of perhaps ten years sold him a newspaper that was three days old; he paid twice what she asked and read "
    "it by the stove: a bridge had been opened in the north, wheat was dearer than last year."
)
NUM_CONTEXT = 8
"""Tokens at the beginning that are not judged: what follows few tokens says little about a format."""
STRIDE = 5
"""Every so many-th token is judged: llama.cpp's server takes a second to report a whole vocabulary."""


def float_logits(path: Path, ids: list[int]) -> NDArray[np.float32]:
    """Logits after every token from the dequantised weights, all in float32, [num_tokens, vocab_size]."""
    decoder = load_decoder(open_model(path), dtype=torch.float32)
    return all_logits(decoder, ids, len(ids))


def all_logits(decoder: Decoder[Any], ids: list[int], num_prefilled: int) -> NDArray[np.float32]:
    """Logits after every token: so many in one chunk, as a prompt, then one token at a time."""
    num_blocks = -(-len(ids) // 16)
    kv, table = decoder.build_cache(num_blocks), list(range(num_blocks))
    rows = []
    if num_prefilled:
        rows.append(decoder.forward([Chunk(ids[:num_prefilled], 0, table, num_prefilled, is_prompt=True)], kv).copy())
    for start in range(num_prefilled, len(ids)):
        rows.append(decoder.forward([Chunk([ids[start]], start, table)], kv).copy())
    return np.concatenate(rows)


def kl_from_float(
    decoder: Decoder[Any], reference_logits: NDArray[np.float32], ids: list[int], num_prefilled: int = NUM_CONTEXT
) -> NDArray[np.float64]:
    """KL(float ‖ decoder) in nats after every STRIDE-th token from NUM_CONTEXT on."""
    actual = log_probabilities(all_logits(decoder, ids, num_prefilled))
    return divergence(log_probabilities(reference_logits), actual)[NUM_CONTEXT - 1 :: STRIDE]


def peer_kl(path: Path, reference_logits: NDArray[np.float32], ids: list[int]) -> NDArray[np.float64]:
    """The same of llama.cpp on this file."""
    with peer_logprobs(path, reference_logits.shape[1]) as ask:
        actual = np.stack([ask(ids[:end]) for end in range(NUM_CONTEXT, len(ids) + 1, STRIDE)])
    return divergence(log_probabilities(reference_logits)[NUM_CONTEXT - 1 :: STRIDE], actual)


@contextmanager
def peer_logprobs(path: Path, vocab_size: int) -> Iterator[Any]:
    """Gives a function: ids → llama.cpp's log-probabilities of the whole vocabulary after them."""
    with llama_cpp(path) as client:
        yield lambda ids: _after(client, ids, vocab_size)


class _Candidate(msgspec.Struct):
    id: int
    logprob: float


class _Token(msgspec.Struct):
    top_logprobs: list[_Candidate]


class _Completion(msgspec.Struct):
    """Of llama.cpp's reply only what is read: the whole of it is slow to decode."""

    completion_probabilities: tuple[_Token]


def _after(client: httpx.Client, ids: list[int], vocab_size: int) -> NDArray[np.float64]:
    body = {"prompt": ids, "n_predict": 1, "n_probs": vocab_size, "temperature": 0, "ignore_eos": False}
    reply = client.post("/completion", json=body).content
    (token,) = msgspec.json.decode(reply, type=_Completion).completion_probabilities
    row = np.full(vocab_size, -np.inf)
    for candidate in token.top_logprobs:
        row[candidate.id] = candidate.logprob
    return row


def log_probabilities(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    result: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result


def divergence(expected: NDArray[np.float64], actual: NDArray[np.float64]) -> NDArray[np.float64]:
    """KL of each row, in nats; llama.cpp cuts off what is less likely than float can tell, here e^-100."""
    result: NDArray[np.float64] = (np.exp(expected) * (expected - np.maximum(actual, -100))).sum(axis=-1)
    return result


def main(path: Path) -> None:
    from inference.tokenization.gguf_metadata import read_metadata
    from inference.tokenization.tokenizer import Tokenizer

    ids = Tokenizer(read_metadata(path)).encode(TEXT)
    reference = float_logits(path, ids)
    decoder = load_decoder(open_model(path))
    ways = {
        decoder.compute.split(", ")[0]: kl_from_float(decoder, reference, ids),
        decoder.compute.split(", ")[1]: kl_from_float(decoder, reference, ids, len(ids)),
        "llama.cpp": peer_kl(path, reference, ids),
    }
    for name, values in ways.items():
        print(f"{name:<32} mean {values.mean():.5f}  worst {values.max():.5f} nat over {len(values)} tokens")


if __name__ == "__main__":
    from inference.tokenization.bundled import bundled_model

    main(Path(sys.argv[1]) if len(sys.argv) > 1 else bundled_model())
