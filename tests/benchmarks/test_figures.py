"""How the benchmarks come from samples to figures; nothing is measured here."""

from __future__ import annotations

import pytest

from benchmarks.llama_server import Completion
from benchmarks.memory import parts
from benchmarks.mixed_load import NUM_PROMPT_TOKENS, NUM_REQUESTS, arrivals
from benchmarks.roofline import Machine, decode, prefill
from benchmarks.rows import Question, compared, take_turns
from benchmarks.table import build_table
from inference.tokenization.bundled import bundled_model

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
