"""The decoder on the real model, against transformers in float32, and damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from inference.engine.engine import Engine, PromptTooLong
from inference.engine.loading import load_engine
from inference.models.decoder import Chunk, Decoder, load_decoder
from inference.models.decoders.kv_cache import KVCache
from inference.models.sources.gguf_file import GgufFile, ModelFileError
from inference.models.weights.packed_cache import PackedCache
from inference.protocol.events import TokenSampled
from inference.protocol.request import GenerationRequest, SamplingParams
from inference.tokenization.chat_template import ChatMessage, ChatTemplate
from inference.tokenization.tokenizer import Tokenizer
from tests.inference.models.combinations import is_whole

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(model_path: Path) -> GgufFile:
    return GgufFile(model_path)


@pytest.fixture(scope="module")
def decoder(file: GgufFile, weights: PackedCache) -> Decoder:
    return load_decoder(file, cache=weights)


@pytest.fixture(scope="module")
def reference(model_path: Path) -> Any:
    """The same file in transformers, which reads and dequantises it by itself, in float32."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(model_path.parent, gguf_file=model_path.name, dtype=torch.float32)


TEXT = "The old lighthouse keeper counted 42 ships that night, and wrote each name into his book before he slept."


@pytest.mark.skipif(not is_whole(), reason="make kernels: test_float.py and test_divergence.py hold it by llama.cpp")
def test_prefill_and_decode_stay_near_transformers(
    file: GgufFile, decoder: Decoder, tokenizer: Tokenizer, reference: Any
) -> None:
    ids = tokenizer.encode(TEXT)
    with torch.inference_mode():
        expected = reference(torch.tensor([ids])).logits[0].log_softmax(-1)
    kv, table = KVCache(file.config, 4), [2, 0, 3]
    rows = [decoder.forward([Chunk(ids[:18], 0, table)], kv)[0]]
    rows += [decoder.forward([Chunk([ids[n]], n, table)], kv)[0] for n in range(18, len(ids))]
    actual = torch.tensor(np.stack(rows)).log_softmax(-1)
    kl = (expected[17:].exp() * (expected[17:] - actual)).sum(-1)
    # Measured on a CPU with bfloat16 products: mean 0.002, worst 0.01 nat.
    assert kl.mean() < 0.01
    assert kl.max() < 0.05


def test_a_batch_gives_what_each_gets_alone(file: GgufFile, decoder: Decoder, tokenizer: Tokenizer) -> None:
    first, second = tokenizer.encode("One two three"), tokenizer.encode("Completely different words here")
    kv = KVCache(file.config, 2)
    alone = [decoder.forward([Chunk(ids, 0, [0])], kv)[0] for ids in (first, second)]
    together = decoder.forward([Chunk(first, 0, [1]), Chunk(second, 0, [0])], kv)
    for row, expected in zip(torch.tensor(together), torch.tensor(np.stack(alone)), strict=True):
        assert torch.allclose(row.softmax(-1), expected.softmax(-1), atol=0.02)


@pytest.fixture(scope="module")
def engine(decoder: Decoder, tokenizer: Tokenizer) -> Engine:
    from inference.engine.model_runner import ModelRunner

    return Engine(ModelRunner(decoder), tokenizer)


class StoppedClock:
    def at(self) -> int:
        return 0


def request(ids: list[int], **params: object) -> GenerationRequest:
    return GenerationRequest(
        request_id=f"req_{len(ids)}_{params}",
        attempt=1,
        model="m",
        prompt_ids=tuple(ids),
        params=SamplingParams(**params),  # type: ignore[arg-type]
        accepted_unix_us=0,
        principal="",
    )


def run(engine: Engine, tokenizer: Tokenizer, *requests: GenerationRequest) -> dict[str, list[TokenSampled]]:
    for each in requests:
        engine.submit(each, tokenizer.eos_ids, StoppedClock())
    tokens: dict[str, list[TokenSampled]] = {each.request_id: [] for each in requests}
    while engine.has_work():
        for output in engine.step():
            tokens[output.request_id] += [event for event in output.events if isinstance(event, TokenSampled)]
    return tokens


def test_greedy_knows_the_capital_of_france(engine: Engine, tokenizer: Tokenizer, template: ChatTemplate) -> None:
    """The answer is begun: "The" and "L'" are too close at its beginning for CPUs that round differently."""
    prompt = template.render([ChatMessage("user", "What is the capital of France?")])
    ids = [*prompt.ids, *tokenizer.encode("The capital of France is")]
    (tokens,) = run(engine, tokenizer, request(ids, temperature=0.0, max_tokens=32)).values()
    assert "Paris" in b"".join(token.piece for token in tokens).decode()
    assert tokens[-1].is_special


def test_several_requests_share_steps_and_all_finish(engine: Engine, tokenizer: Tokenizer) -> None:
    requests = [request(tokenizer.encode("word " * n), max_tokens=6, seed=n) for n in (3, 5, 300)]
    tokens = run(engine, tokenizer, *requests)
    assert {len(each) <= 6 for each in tokens.values()} == {True}
    assert max(token.batch_size for each in tokens.values() for token in each) >= 2


def test_a_cancelled_request_ends_in_the_next_step(engine: Engine, tokenizer: Tokenizer) -> None:
    each = request(tokenizer.encode("Tell me a long story"), max_tokens=500)
    engine.submit(each, tokenizer.eos_ids, StoppedClock())
    engine.step()
    engine.cancel(each.request_id)
    (output,) = engine.step()
    assert output.finish_reason == "abort"
    assert not engine.has_work()


def test_prompts_that_cannot_run_are_refused(engine: Engine, tokenizer: Tokenizer) -> None:
    with pytest.raises(PromptTooLong, match="8192"):
        engine.submit(request([5] * 8192), tokenizer.eos_ids, StoppedClock())
    for ids in ([], [-1], [49152]):
        with pytest.raises(ValueError, match="ids from 0"):
            engine.submit(request(ids), tokenizer.eos_ids, StoppedClock())


def test_a_broken_sequence_fails_alone(engine: Engine, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    from inference.engine import model_runner

    original = model_runner.ModelRunner.run

    def poison(self: model_runner.ModelRunner, step: list) -> list:  # type: ignore[type-arg]
        rows = original(self, step)
        return [
            np.full_like(row, np.nan) if row is not None and s.sequence.num_input_tokens == 2 else row
            for s, row in zip(step, rows, strict=True)
        ]

    monkeypatch.setattr(model_runner.ModelRunner, "run", poison)
    engine.submit(request([5, 6], max_tokens=3), tokenizer.eos_ids, StoppedClock())
    engine.submit(request([5, 6, 7], max_tokens=3), tokenizer.eos_ids, StoppedClock())
    reasons = {}
    while engine.has_work():
        reasons |= {o.request_id[:5]: o.finish_reason for o in engine.step() if o.finish_reason}
    assert reasons["req_2"] == "error"
    assert reasons["req_3"] in ("length", "stop")


@pytest.mark.parametrize(
    "data", [b"", b"GGUF", b"not a model" * 10, b"GGUF\x09" + b"\0" * 40, b"GGUF\x03\0\0\0" + b"\xff" * 40]
)
def test_a_damaged_model_file_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"broken\.gguf"):
        GgufFile(path)


def test_a_truncated_model_file_is_refused(tmp_path: Path, model_path: Path) -> None:
    path = tmp_path / "short.gguf"
    path.write_bytes(model_path.read_bytes()[: 20 << 20])
    with pytest.raises(ModelFileError, match=r"short\.gguf"):
        load_decoder(GgufFile(path))


def test_a_missing_model_file_says_what_to_give(tmp_path: Path, tokenizer: Tokenizer) -> None:
    with pytest.raises(ModelFileError, match="give the path of a GGUF file"):
        load_engine(tmp_path / "none.gguf", 1, tokenizer)
