"""The decoder over gathered blocks: who is computed beside whom, where blocks lie and what former sequences left there
change nothing. On a CPU, and on a GPU where there is one; what only a GPU can tell is in tests/gpu."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmarks.random_weights import CAPPED, PLAIN, WINDOWED, random_weights
from inference.engine.engine import Engine
from inference.engine.model_runner import ModelRunner
from inference.engine.scheduling.scheduler import Limits
from inference.models.blocks import BLOCK_SIZE, block_bytes
from inference.models.config import ModelConfig
from inference.models.decoder import Chunk
from inference.models.decoders import decode_step
from inference.models.decoders.decode_step import MAX_GATHERED, MAX_ROWS, bucket_of
from inference.models.decoders.kv_cache import PagedCache
from inference.models.decoders.paged_decoder import PagedDecoder
from inference.models.decoders.paged_layout import Group, PagedLayout
from inference.models.decoders.torch_decoder import TorchDecoder
from inference.models.weights.torch_weights import Weights
from inference.protocol.events import GenerationPreempted
from inference.sampling import vocabulary
from inference.sampling.device_vocabulary import device_summarise
from tests.inference.engine.fakes import Pieces, prompt, request, run

NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, NO_GPU])]
NUM_TOKENS, NUM_BLOCKS = 90, 40
TOLERANCE = 5e-5
"""Largest difference of a logit in float32, as a share of the largest logit."""


@dataclass(frozen=True)
class Pair:
    """One model by both decoders, texts, and the plain decoder's logits after each of their tokens."""

    paged: PagedDecoder
    texts: list[list[int]]
    expected: list[np.ndarray]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Two that share a busy core wait for each other at every small product."""
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(num_threads)


@pytest.fixture(scope="module", params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)


@pytest.fixture(scope="module", params=[PLAIN, WINDOWED, CAPPED], ids=["plain", "windowed", "capped"])
def pair(request: pytest.FixtureRequest, device: torch.device) -> Pair:
    config: ModelConfig = request.param
    weights = random_weights(config)
    plain = TorchDecoder(config, weights)
    texts = np.random.default_rng(5).integers(config.vocab_size, size=(5, NUM_TOKENS)).tolist()
    expected = [plain.forward([Chunk(ids, 0, range(6), NUM_TOKENS)], plain.build_cache(6)) for ids in texts]
    moved = Weights({name: value.to(device) for name, value in weights.items()})
    return Pair(PagedDecoder(config, moved, torch.float32, device), texts, expected)


@settings(max_examples=50)
@given(st.data())
def test_any_mix_of_steps_gives_what_each_text_gets_alone(pair: Pair, data: st.DataObject) -> None:
    kv = pair.paged.build_cache(NUM_BLOCKS)
    blocks = data.draw(st.permutations(range(NUM_BLOCKS)))
    kv.keys[:, :NUM_BLOCKS] = kv.values[:, :NUM_BLOCKS] = float("nan")  # as a broken sequence would leave them
    places = [0] * len(pair.texts)
    sizes = st.one_of(st.just(1), st.integers(2, 40))
    for _ in range(data.draw(st.integers(1, 6))):
        chosen = data.draw(st.lists(st.sampled_from(range(len(places))), min_size=1, unique=True))
        ends = [min(places[each] + data.draw(sizes), NUM_TOKENS) for each in chosen]
        chunks = [
            Chunk(pair.texts[each][places[each] : end], places[each], blocks[6 * each : 6 * each + 6])
            for each, end in zip(chosen, ends, strict=True)
            if end > places[each]
        ]
        wanted = [pair.expected[each][end - 1] for each, end in zip(chosen, ends, strict=True) if end > places[each]]
        for each, end in zip(chosen, ends, strict=True):
            places[each] = end
        if chunks:
            difference = np.abs(pair.paged.forward(chunks, kv) - np.stack(wanted)).max()
            assert difference < TOLERANCE * np.abs(wanted).max()


def test_sequences_too_long_for_a_bucket_attend_alone(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode_step, "MAX_GATHERED", 0)
    kv = pair.paged.build_cache(NUM_BLOCKS)
    tables = [range(6 * row, 6 * row + 6) for row in range(5)]
    start = [Chunk(ids[:70], 0, table, 0) for ids, table in zip(pair.texts, tables, strict=True)]
    assert pair.paged.forward(start, kv).shape == (0, PLAIN.vocab_size)
    singles = [Chunk(ids[70:71], 70, table) for ids, table in zip(pair.texts, tables, strict=True)]
    wanted = np.stack([rows[70] for rows in pair.expected])
    assert np.abs(pair.paged.forward(singles, kv) - wanted).max() < TOLERANCE * np.abs(wanted).max()
    assert not kv.steps


def test_a_prompt_gives_logits_where_they_are_asked_for(pair: Pair) -> None:
    kv, (first, second, *_) = pair.paged.build_cache(NUM_BLOCKS), pair.texts
    pair.paged.forward([Chunk(second[:8], 0, [9], 0)], kv)
    chunks = [Chunk(first[:40], 0, [3, 0, 5], 3), Chunk(second[8:9], 8, [9], 1), Chunk(first[:5], 0, [7], 0)]
    wanted = np.concatenate([pair.expected[0][37:40], pair.expected[1][8:9]])
    assert np.abs(pair.paged.forward(chunks, kv) - wanted).max() < TOLERANCE * np.abs(wanted).max()


@pytest.mark.parametrize("is_prefilling", [False, True], ids=["decode", "mixed"])
def test_what_broken_padding_writes_reaches_no_sequence(device: torch.device, is_prefilling: bool) -> None:
    """Rows left over compute token 0 where no sequence lies; here it is NaN."""
    weights = Weights({name: each.clone().to(device) for name, each in random_weights(PLAIN).items()})
    weights.setdefault("head", weights["embedding"].clone())
    weights["embedding"][0] = float("nan")
    decoder = PagedDecoder(PLAIN, weights, torch.float32, device)
    kv = decoder.build_cache(NUM_BLOCKS)
    lengths, tables = [5, 5, 40], [range(4), range(4, 8), range(8, 12)]
    for length, table in zip(lengths, tables, strict=True):
        decoder.forward([Chunk(list(range(3, 3 + length)), 0, table, 0)], kv)
    more = [Chunk([3, 4, 5], 0, [20], 0)] if is_prefilling else []
    for step in range(3):
        chunks = [Chunk([7], length + step, table) for length, table in zip(lengths, tables, strict=True)]
        assert np.isfinite(decoder.forward(chunks + more if step else chunks, kv)).all()


def test_a_step_that_fails_has_waited_for_its_copies() -> None:
    """The next one writes to the memory that they read."""

    class Watched(PagedDecoder):
        num_waits = 0

        def wait(self) -> None:
            self.num_waits += 1
            super().wait()

    decoder = Watched(PLAIN, random_weights(PLAIN), torch.float32, torch.device("cpu"))
    kv = decoder.build_cache(1)
    for ids in ([PLAIN.vocab_size], [1, PLAIN.vocab_size]):
        with pytest.raises(IndexError):
            decoder.forward([Chunk(ids, 0, [0])], kv)
    assert decoder.num_waits == 2
    assert np.isfinite(decoder.forward([Chunk([1], 0, [0])], kv)).all()


class HostWatch(TorchDispatchMode):
    """Collects every operation that takes or makes a tensor in the host's memory."""

    def __init__(self) -> None:
        super().__init__()
        self.num_operations = 0
        self.on_host: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.num_operations += 1
        touched = [each for each in tree_leaves((args, kwargs, result)) if isinstance(each, torch.Tensor)]
        if any(each.device.type == "cpu" for each in touched):
            self.on_host.append(str(func))
        return result


@pytest.mark.parametrize("config", [PLAIN, WINDOWED, CAPPED], ids=["plain", "windowed", "capped"])
def test_a_decode_step_reads_and_makes_no_tensor_of_the_host(config: ModelConfig) -> None:
    """A graph could not hold one. PyTorch's device `meta` has shapes and no values, so asking for a value fails; what
    is made of a Python list is not seen here."""
    device = torch.device("meta")
    model = TorchDecoder(config, Weights({name: each.to(device) for name, each in random_weights(config).items()}))
    kv = PagedCache(config, NUM_BLOCKS, torch.float32, device)
    frequencies = {window: torch.empty(config.head_dim // 2, device=device) for window in (None, config.sliding_window)}
    inputs = torch.empty(4, 8, dtype=torch.int64, device=device)
    with torch.inference_mode(), HostWatch() as watch:
        layout = PagedLayout(config, [Group(inputs[:, 1:2], inputs[:, 2:])], frequencies, kv)
        logits = model.read_out(model.residual(inputs[:, 0], layout))
    assert logits.shape == (4, config.vocab_size)
    assert watch.num_operations > 100
    assert watch.on_host == []


@given(st.lists(st.integers(0, 9000), min_size=1, max_size=80))
def test_a_bucket_holds_its_step_and_little_more(starts: list[int]) -> None:
    chunks = [Chunk([1], start, []) for start in starts]
    num_blocks, bucket = max(starts) // BLOCK_SIZE + 1, bucket_of(chunks)
    if bucket is None:
        assert len(starts) > MAX_ROWS or 3 * len(starts) * num_blocks * BLOCK_SIZE > MAX_GATHERED
        return
    assert len(starts) <= bucket.num_rows < 2 * len(starts)
    assert num_blocks <= bucket.num_blocks <= max(1.5 * num_blocks, num_blocks + 1)


def test_shared_and_scarce_blocks_change_no_answer(pair: Pair) -> None:
    """The engine on this decoder: a prefix that prompts share, then too few blocks for all."""
    asked = [request(name, prompt(1, 50) + prompt(seed, 12), 20) for seed, name in enumerate("abc", 2)]
    answers = []
    for num_blocks in (64, 7):
        runner = ModelRunner(pair.paged, num_blocks * block_bytes(pair.paged.config))
        runs = run(Engine(runner, Pieces(), limits=Limits(8, token_budget=64, mixed_budget=32)), *asked)
        answers.append({name: each.ids for name, each in runs.items()})
    assert any(each.of(GenerationPreempted) for each in runs.values())
    assert sum(each.usage.cache_read for each in runs.values()) > 0
    alone = run(Engine(ModelRunner(pair.paged, 8 << 20), Pieces()), asked[0])["a"]
    assert answers[0] == answers[1]
    assert answers[0]["a"] == alone.ids


@given(st.integers(0, 2**32 - 1), st.lists(st.sampled_from([1e-3, 0.3, 1.0, 4.0]), min_size=1, max_size=4))
def test_sums_where_the_logits_are_equal_the_portable_ones(
    device: torch.device, seed: int, temperatures: list[float]
) -> None:
    generator = np.random.default_rng(seed)
    logits = (generator.normal(size=(len(temperatures), 500)) * 10).astype(np.float32)
    logits[0, generator.integers(500)] = generator.choice([0, -np.inf, np.nan, np.inf])
    asked: list[int] = []

    def fallback(*given_: object) -> list[vocabulary.Summary]:
        asked.append(1)
        return vocabulary.summarise(*given_)  # type: ignore[arg-type]

    summarise = device_summarise(lambda rows: torch.from_numpy(rows).to(device), fallback)
    found = summarise(logits, temperatures, 128)
    for ours, theirs in zip(found, vocabulary.summarise(logits, temperatures, 128), strict=True):
        assert ours.is_finite == theirs.is_finite
        assert ours.ids.tolist() == theirs.ids.tolist()
        assert np.allclose(ours.logits, theirs.logits)
        assert np.allclose(ours[4:], theirs[4:], rtol=1e-5, atol=1e-5, equal_nan=True)
    assert len(asked) == (not np.isfinite(logits).all())


def test_only_the_last_steps_own_logits_are_looked_for_on_the_device(pair: Pair) -> None:
    kv = pair.paged.build_cache(1)
    logits = pair.paged.forward([Chunk([1, 2], 0, [0])], kv)
    found = pair.paged.on_device(logits)
    assert found is not None
    assert np.array_equal(found.cpu().numpy(), logits)
    assert pair.paged.on_device(logits[:1]) is None
