"""How the benchmarks come from samples to figures; nothing is measured here."""

from __future__ import annotations

import msgspec
import pytest

from benchmarks.llama_server import Completion
from benchmarks.memory import parts
from benchmarks.mixed_load import NUM_PROMPT_TOKENS, NUM_REQUESTS, arrivals
from benchmarks.output_safety import delays_ms
from benchmarks.roofline import Machine, decode, prefill
from benchmarks.rows import Question, compared, take_turns, without_peer
from benchmarks.table import build_table
from benchmarks.tool_round import cost_ms
from inference.protocol.events import (
    AnyEvent,
    GenerationFinished,
    GenerationStarted,
    TextReleased,
    TokenSampled,
    ToolFinished,
)
from inference.protocol.request import Usage
from inference.tokenization.bundled import bundled_model
from tests.inference.worker.test_output_guard import token

needs_model = pytest.mark.skipif(not bundled_model().exists(), reason="the bundled model is not installed")


def test_sides_take_turns_after_a_warm_up() -> None:
    order: list[str] = []

    def side(name: str) -> float:
        order.append(name)
        return float(len(order))

    samples = take_turns({"ours": lambda: side("ours"), "peer": lambda: side("peer")}, num_rounds=2)
    assert order == ["ours", "peer"] * 3
    assert samples == {"ours": [3.0, 5.0], "peer": [4.0, 6.0]}


@pytest.mark.parametrize(("is_more_better", "peer"), [(True, "native"), (False, "wheel")])
def test_the_better_peer_is_compared_with(is_more_better: bool, peer: str) -> None:
    samples = {"ours": [30.0, 60.0, 30.0], "wheel": [10.0, 10.0, 90.0], "native": [20.0, 15.0, 20.0]}
    row = compared(Question("work", 2, "tokens/s", is_more_better), samples)
    assert row["peer_name"] == peer
    assert row["ratio"] == (1.5 if is_more_better else 3.0)


def test_tokens_that_came_together_share_their_time() -> None:
    chunks = [{"timings": {"predicted_n": n, "predicted_ms": ms}} for n, ms in [(1, 0.0), (2, 10.0), (4, 50.0)]]
    assert Completion(chunks).token_gaps == pytest.approx([0.01, 0.02, 0.02])


def test_the_parts_of_memory_add_up() -> None:
    marks = {"Python": 20.0, "libraries": 200.0, "tokenizer": 230.0, "weights": 500.0}
    work = {"weights in their file": 30.0, "keys and values": 50.0, "peak": 600.0}
    assert sum(parts(marks | work).values()) == pytest.approx(600)


@needs_model
def test_the_load_is_the_same_every_time() -> None:
    low, high = NUM_PROMPT_TOKENS
    load = arrivals()
    assert load == arrivals()
    assert len(load) == NUM_REQUESTS
    assert all(low <= len(arrival.ids) <= high for arrival in load)


@needs_model
def test_the_roof_of_decode_is_memory_and_that_of_prefill_arithmetic() -> None:
    machine = Machine(bandwidth=1e9, int8_rate=1e12, bf16_rate=1e12)
    one = decode(1)
    assert 90e6 < one.weight_bytes < 100e6  # the file without its norms: 134.5 million weights in 5 to 8.5 bits
    assert one.least_seconds(machine) == pytest.approx((one.weight_bytes + one.kv_bytes) / 1e9)
    assert prefill(4000).least_seconds(machine) == prefill(4000).compute_seconds(machine)


def test_the_table_can_be_built_from_what_is_there() -> None:
    head, *rows = build_table().splitlines()
    assert all(row.count("|") == head.count("|") for row in rows)


def test_a_row_without_a_peer_has_the_median_and_the_quartiles() -> None:
    row = without_peer(Question("work", 15, "ms", False, " ms"), [4.0, 1.0, 3.0, 2.0, 5.0], "why")
    assert (row["ours"], row["spread"], row["target"], row["note"]) == (3.0, "1.5 to 4.5", "<= 15 ms", "why")
    assert row["ratio"] is None


def started(at: int) -> GenerationStarted:
    return GenerationStarted(
        at=at,
        generation=1,
        worker="w",
        attempt=2,
        device="cpu",
        model="m",
        architecture="a",
        quantization="q",
        compute="c",
        queued_us=0,
    )


def test_a_tool_round_costs_the_pause_less_the_tool() -> None:
    ended = GenerationFinished(at=1000, finish_reason="stop", usage=Usage(), prefill_us=0, decode_us=0)
    tool = ToolFinished(at=6000, call_id="call_0_0", result="391", duration_us=2000)
    assert cost_ms([ended, tool, started(21_000)]) == 18.0
    assert cost_ms([ended, tool]) is None


def sampled(*times: int) -> list[TokenSampled]:
    return [msgspec.structs.replace(token(place, b" word"), at=at) for place, at in enumerate(times)]


def test_text_is_delayed_from_the_token_that_closes_its_window() -> None:
    first, second = (TextReleased(at=at, text=" word", num_tokens=num) for at, num in [(9000, 1), (30_000, 3)])
    events: list[AnyEvent] = [*sampled(1000, 4000, 20_000), first, second]
    assert delays_ms(events) == [5.0, 10.0]
