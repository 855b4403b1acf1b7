"""In float32, SmolLM2 gives llama.cpp's log-probabilities and its greedy answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from inference.models.decoder import Chunk, load_decoder
from inference.models.sources.gguf_file import GgufFile
from inference.tokenization.tokenizer import Tokenizer
from tests.inference.models.combinations import is_whole
from tests.inference.models.divergence import log_probabilities
from tests.inference.models.rewrite import rewrite
from tests.inference.tokenization.peer import llama_cpp

pytestmark = pytest.mark.slow

NUM_TOKENS = 32
NUM_SLOTS = 5
"""Answers that llama.cpp computes at once, of 70 tokens each: it reads the weights once for all of them."""
TOLERANCE = 0.01
"""Nats, of every token that llama.cpp reports. Measured: 0.0004 at most; against its flash attention in float16,
which is its default, 0.02."""
PROMPTS = [
    "The capital of France is", "Once upon a time", "def fibonacci(n):", "Water boils at", "The three primary colours",
    "In 1969, humans", "My favourite recipe for bread", "The quick brown fox", "Photosynthesis is the process",
    "Dear Sir or Madam,", "1, 1, 2, 3, 5, 8,", "The stock market fell", "A good night's sleep", "import numpy as np\n",
    "The old lighthouse keeper", "To be or not to be", "Gravity pulls", "The recipe calls for two eggs and",
    "She opened the door and", "Die Hauptstadt von Deutschland ist",
]  # fmt: skip


class Answer:
    """Greedy tokens and, after each, the log-probabilities of the likeliest."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = ids
        self.rows: list[NDArray[np.float32] | dict[int, float]] = []
        """Indexed by token id."""


def ours(path: Path, prompts: list[list[int]]) -> list[Answer]:
    decoder = load_decoder(GgufFile(path), dtype=torch.float32)
    num_blocks = -(-(max(map(len, prompts)) + NUM_TOKENS) // 16)
    kv: Any = decoder.build_cache(num_blocks * len(prompts))
    answers = [Answer([]) for _ in prompts]
    chunks = [Chunk(ids, 0, range(row * num_blocks, (row + 1) * num_blocks)) for row, ids in enumerate(prompts)]
    for _ in range(NUM_TOKENS):
        logits = log_probabilities(decoder.forward(chunks, kv))
        for answer, row in zip(answers, logits, strict=True):
            answer.ids.append(int(row.argmax()))
            answer.rows.append(row.astype(np.float32))
        chunks = [
            Chunk(answer.ids[-1:], chunk.end, chunk.block_table) for answer, chunk in zip(answers, chunks, strict=True)
        ]
    return answers


def theirs(path: Path, prompts: list[list[int]]) -> list[Answer]:
    with llama_cpp(path, is_float=True, num_slots=NUM_SLOTS) as client, ThreadPoolExecutor(NUM_SLOTS) as askers:
        return list(askers.map(lambda ids: answer_of(client, ids), prompts))


def answer_of(client: httpx.Client, ids: list[int]) -> Answer:
    body = {"prompt": ids, "n_predict": NUM_TOKENS, "n_probs": 10, "temperature": 0}
    reply = client.post("/completion", json=body | {"return_tokens": True}).json()
    answer = Answer(reply["tokens"])
    for token in reply["completion_probabilities"]:
        answer.rows.append({each["id"]: each["logprob"] for each in token["top_logprobs"]})
    return answer


ASKED = PROMPTS if is_whole() else PROMPTS[:NUM_SLOTS]


def test_float32_equals_llama_cpp(tmp_path: Path, model_path: Path, tokenizer: Tokenizer) -> None:
    path = rewrite(model_path, tmp_path / "model.gguf", "F32")
    prompts = [tokenizer.encode(prompt) for prompt in ASKED]
    worst, ties = 0.0, []
    for prompt, mine, peer in zip(ASKED, ours(path, prompts), theirs(path, prompts), strict=True):
        for position in range(NUM_TOKENS):
            if position < len(peer.rows):
                worst = max([worst, *(abs(mine.rows[position][i] - p) for i, p in peer.rows[position].items())])
            token = peer.ids[position] if position < len(peer.ids) else None
            if mine.ids[position] in tokenizer.eos_ids:
                assert token in (None, mine.ids[position]), prompt
                break
            assert token is not None, f"{prompt!r}: llama.cpp ends at token {position}"
            if mine.ids[position] != token:
                gap = mine.rows[position][mine.ids[position]] - mine.rows[position][token]
                ties.append(f"{prompt!r} at token {position}: a gap of {gap:.5f} nat")
                assert gap < TOLERANCE, ties[-1]
                break
    print(f"largest difference {worst:.5f} nat; near ties: {ties}")
    assert worst < TOLERANCE
