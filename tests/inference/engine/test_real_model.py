"""The engine on a real decoder: what is shared, cached, preempted or guessed changes no answer.

The model is the bundled one where the test needs an answer that ends or repeats.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import torch

from inference.engine.engine import Engine
from inference.engine.model_runner import ModelRunner
from inference.engine.scheduling.prefix_cache import NoPrefixCache
from inference.engine.scheduling.scheduler import Limits
from inference.kernels.library import Kernels
from inference.models.blocks import BLOCK_SIZE, block_bytes
from inference.models.decoder import Decoder, load_decoder
from inference.models.sources.source import open_model
from inference.models.weights.packed_cache import PackedCache
from inference.protocol.events import CacheLookedUp, CacheStored, DraftVerified, GenerationPreempted, PrefillAdvanced
from inference.protocol.request import GenerationRequest, SamplingParams, Usage
from inference.tokenization.chat_template import ChatMessage, ChatTemplate
from inference.tokenization.tokenizer import Tokenizer
from tests.inference.engine.fakes import Run, run

pytestmark = pytest.mark.slow

STORY = "The keeper of the old lighthouse counted forty-two ships that night, and wrote each name into his book. " * 4


@pytest.fixture(scope="module")
def decoder(model_path: Path, weights: PackedCache) -> Decoder:
    torch.set_num_threads(1)  # two that share a busy core wait for each other at every matrix product
    return load_decoder(open_model(model_path), cache=weights)


@pytest.fixture(scope="module")
def native(model_path: Path, weights: PackedCache, kernels: Kernels) -> Decoder:
    return load_decoder(open_model(model_path), cache=weights, kernels=kernels)


@pytest.fixture(scope="module")
def tiny(tiny_path: Path, kernels: Kernels) -> Decoder:
    return load_decoder(open_model(tiny_path), kernels=kernels)


def engine(decoder: Decoder, tokenizer: Tokenizer, num_blocks: int = 400, is_cached: bool = True) -> Engine:
    runner = ModelRunner(decoder, num_blocks * block_bytes(decoder.config))
    limits = Limits(max_num_running=4, token_budget=256, mixed_budget=64)
    return Engine(runner, tokenizer, None if is_cached else NoPrefixCache(), limits, has_drafts=False)


def ask(name: str, ids: list[int], num_output: int = 16, principal: str = "alice") -> GenerationRequest:
    return GenerationRequest(
        request_id=name,
        attempt=1,
        model="smollm2",
        prompt_ids=tuple(ids),
        params=SamplingParams(temperature=0.0, max_tokens=num_output),
        accepted_unix_us=0,
        principal=principal,
    )


def chat(template: ChatTemplate, *texts: str) -> list[int]:
    roles = ("user", "assistant")
    return list(template.render([ChatMessage(roles[n % 2], text) for n, text in enumerate(texts)]).ids)


def test_a_second_turn_computes_only_what_is_new(
    decoder: Decoder, tokenizer: Tokenizer, template: ChatTemplate
) -> None:
    served = engine(decoder, tokenizer)
    question = f"{STORY} How many ships did he count?"
    first = chat(template, question)
    answer = run(served, ask("one", first))["one"]
    assert {type(event) for event in answer.events} >= {CacheLookedUp, CacheStored}
    second = chat(template, question, tokenizer.decode(answer.ids[:-1]), "What did he write?")
    two = run(served, ask("two", second))["two"]
    num_same = next(n for n, (a, b) in enumerate(zip([*first, *answer.ids], second, strict=False)) if a != b)
    assert two.usage.cache_read == num_same // BLOCK_SIZE * BLOCK_SIZE > len(first) - BLOCK_SIZE
    assert two.usage.uncached_input == len(second) - two.usage.cache_read
    prefilled = [event for event in two.events if isinstance(event, PrefillAdvanced)]
    assert sum(event.end - event.start for event in prefilled) == two.usage.uncached_input
    assert two.ids == run(engine(decoder, tokenizer, is_cached=False), ask("cold", second))["cold"].ids
    stranger = run(served, ask("three", second, principal="bob"))["three"]
    assert stranger.usage == Usage(uncached_input=len(second), output=len(stranger.ids))


def test_preemption_gives_the_same_tokens(tiny: Decoder, tokenizer: Tokenizer, template: ChatTemplate) -> None:
    places = ["France", "Italy", "Spain", "Japan"]
    requests = [
        ask(place, chat(template, f"What is the capital of {place}? Answer in one sentence."), 40, principal=place)
        for place in places
    ]

    def answers(num_blocks: int) -> dict[str, Run]:
        return run(engine(tiny, tokenizer, num_blocks, is_cached=False), *requests)

    tight, roomy = answers(10), answers(400)
    assert any(each.of(GenerationPreempted) for each in tight.values())
    assert {name: each.ids for name, each in tight.items()} == {name: each.ids for name, each in roomy.items()}


def test_drafts_give_the_same_tokens(native: Decoder, tokenizer: Tokenizer, template: ChatTemplate) -> None:
    ids = chat(template, f"Repeat this text word for word: {STORY[:104]}")
    plain = run(engine(native, tokenizer), ask("a", ids, 40))["a"]
    guessing = Engine(ModelRunner(native, 64 << 20), tokenizer)
    drafted = run(guessing, ask("a", ids, 40))["a"]
    assert drafted.ids == plain.ids
    assert drafted.of(DraftVerified)


def test_a_fork_with_the_parents_settings_repeats_the_rest_of_its_answer(
    tiny: Decoder, tokenizer: Tokenizer, template: ChatTemplate
) -> None:
    """Token for token, though it reads at once what the parent wrote one by one, whoever else is computed beside it."""
    served = Engine(ModelRunner(tiny, 64 << 20), tokenizer)
    asked = ask("parent", chat(template, "Write two sentences about a lighthouse."), 60)
    params = SamplingParams(temperature=0.9, top_p=0.95, seed=11, max_tokens=60, frequency_penalty=0.4)
    asked = msgspec.structs.replace(asked, params=params)
    ids = run(served, asked)["parent"].ids
    forks = {
        f"{principal}{place}": msgspec.structs.replace(
            asked, request_id=f"{principal}{place}", kept_ids=tuple(ids[:place]), principal=principal
        )
        for place in (1, 7, 24, len(ids) - 1)
        for principal in ("alice", "bob")
    }
    for name, fork in run(served, *forks.values()).items():
        assert [*forks[name].kept_ids, *fork.ids] == ids
    again = run(served, msgspec.structs.replace(forks["alice24"], request_id="again"))["again"]
    assert again.usage.cache_read == (len(asked.prompt_ids) + 23) // BLOCK_SIZE * BLOCK_SIZE
