"""What the engine tells of its work agrees with what became of each request."""

from __future__ import annotations

from inference.engine.scheduling.scheduler import Limits
from inference.protocol.events import GenerationPreempted
from inference.protocol.request import StepCommand
from inference.protocol.snapshot import KVBlocks, PrefixCacheCounters
from tests.inference.engine.fakes import FakeDecoder, Run, StoppedClock, engine, prompt, request, run


def test_an_idle_engine_tells_zeros() -> None:
    work = engine(FakeDecoder()).work()
    assert (work.num_running, work.num_waiting, work.num_paused, work.requests) == (0, 0, 0, ())
    assert (work.num_prefill_tokens, work.num_decode_tokens, work.cache) == (0, 0, PrefixCacheCounters(0, 0))
    assert work.steps is not None
    assert work.steps.num_steps == 0


def test_counters_agree_with_the_requests_usage() -> None:
    tested = engine(FakeDecoder())
    runs = list(run(tested, *(request(f"r{index}", prompt(index, 40)) for index in range(5))).values())
    again = list(run(tested, request("again", prompt(0, 40))).values())
    work, usages = tested.work(), [each.usage for each in (*runs, *again)]
    assert work.num_decode_tokens == sum(usage.output for usage in usages)
    assert work.num_prefill_tokens == sum(usage.uncached_input for usage in usages)
    assert work.cache == PrefixCacheCounters(6 * 40, sum(usage.cache_read for usage in usages))
    assert work.cache.num_hit_tokens > 0


def test_steps_and_blocks_are_counted_while_requests_run() -> None:
    decoder = FakeDecoder()
    tested = engine(decoder, limits=Limits(max_num_running=2))
    for name in "abc":
        tested.submit(request(name, prompt(ord(name), 40)), frozenset(), StoppedClock())
    tested.step()
    tested.step()
    work = tested.work()
    assert (work.num_running, work.num_waiting) == (2, 1)
    assert {each.request_id: each.state for each in work.requests} == {"a": "decode", "b": "decode", "c": "waiting"}
    assert [each.num_output_tokens for each in work.requests] == [2, 2, 0]
    assert [each.num_computed_tokens for each in work.requests] == [41, 41, 0]
    assert work.steps is not None
    assert (work.steps.num_steps, work.steps.last_num_sequences, work.steps.last_num_tokens) == (2, 2, 2)
    assert work.steps.total_us >= work.steps.last_us > 0
    size = tested.runner.block_size
    assert work.blocks == KVBlocks(size, 64, num_used=2 * -(-41 // size), num_cached=0)


def test_a_freed_block_that_the_prefix_cache_keeps_is_cached() -> None:
    tested = engine(FakeDecoder())
    run(tested, request("a", prompt(1, 40)))
    blocks = tested.work().blocks
    assert blocks is not None
    assert (blocks.num_used, blocks.num_cached) == (0, (40 + 7) // tested.runner.block_size)


def test_a_preemption_is_counted_and_asks_the_cache_no_second_time() -> None:
    tested = engine(FakeDecoder(), num_blocks=6)
    runs = run(tested, *(request(name, prompt(ord(name), 30), num_output=40) for name in "ab"))
    num_preemptions = sum(len(each.of(GenerationPreempted)) for each in runs.values())
    work = tested.work()
    assert work.steps is not None
    assert work.steps.num_preemptions == num_preemptions > 0
    assert work.cache is not None
    assert work.cache.num_queried_tokens == 60


def test_a_token_that_waits_for_a_persons_choice_is_counted_once_it_is_taken() -> None:
    tested, seen = engine(FakeDecoder()), Run()
    tested.submit(request("a", prompt(1, 20), is_stepped=True), frozenset(), StoppedClock())
    for output in tested.step():
        seen.add(output)
    work = tested.work()
    assert (work.num_running, work.num_paused, work.num_decode_tokens) == (0, 1, 0)
    assert work.requests[0].state == "paused"
    tested.take("a", StepCommand(position=0))
    assert tested.work().num_decode_tokens == 1
