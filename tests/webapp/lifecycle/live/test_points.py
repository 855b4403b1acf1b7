"""Rates from counters: never below zero, never across a restart or a silence, and in sum what was counted."""

from __future__ import annotations

from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.snapshot import SILENT_S, DeviceMemory
from tests.webapp.lifecycle.live.snapshots import START_US, elsewhere, entry, snapshot
from webapp.lifecycle.live.points import Point, points
from webapp.requests.snapshots import Entry

SECOND = 1_000_000


def test_counters_become_rates_and_gauges_stay() -> None:
    first = snapshot(num_decoded=10, num_steps=5, num_hit=4)
    second = snapshot(at_us=START_US + 2 * SECOND, num_decoded=50, num_steps=25, num_hit=14)
    before, after = points([entry(first), entry(second)])
    assert (before.decode_per_s, before.prefill_per_s, before.batch, before.num_queried) == (None,) * 4
    assert (after.decode_per_s, after.prefill_per_s, after.step_ms, after.batch) == (20.0, 40.0, 20.0, 3)
    assert (after.num_queried, after.num_hit, after.num_preemptions) == (20, 10, 0)
    assert (before.since_ms, before.busy_ms) == (None, None)
    assert (after.since_ms, after.busy_ms) == (2000, 400)
    assert (after.kv_used, after.kv_cached, after.rss_bytes) == (0.25, 0.5, 1 << 30)


def test_a_devices_memory_is_told_where_its_driver_tells() -> None:
    on_cpu, told = snapshot(), snapshot(device_memory=DeviceMemory(3 << 30, 80 << 30))
    untold = snapshot(device_memory=DeviceMemory(None, None))
    assert [each.device_used_bytes for each in points([*map(entry, (on_cpu, told, untold))])] == [None, 3 << 30, None]


def test_an_idle_worker_has_no_batch_and_no_step_time() -> None:
    _, after = points([entry(snapshot(num_steps=5)), entry(snapshot(at_us=START_US + SECOND, num_steps=5))])
    assert (after.decode_per_s, after.batch, after.step_ms) == (0.0, 0, None)


def test_what_a_remote_back_end_does_not_tell_stays_unknown() -> None:
    _, after = points([entry(elsewhere(START_US, 5)), entry(elsewhere(START_US + SECOND, 9))])
    assert (after.num_running, after.decode_per_s) == (1, 4.0)
    unknown = (after.num_waiting, after.prefill_per_s, after.batch, after.step_ms, after.num_hit, after.kv_used)
    assert unknown == (None,) * 6


def test_no_rate_spans_a_silence() -> None:
    late = START_US + (SILENT_S + 1) * SECOND
    _, after = points([entry(snapshot()), entry(snapshot(at_us=late, num_decoded=50))])
    assert after.decode_per_s is None


@st.composite
def lives(draw: st.DrawFn) -> list[list[Entry]]:
    """Each life of the process counts from 0; a restart may come so fast that the counters do not fall."""
    found, at_us = [], START_US
    for life in range(draw(st.integers(1, 4))):
        started_us = at_us
        counts = accumulate(draw(st.lists(st.integers(0, 10_000), min_size=1, max_size=8)))
        times = draw(st.lists(st.integers(1000, 3 * SECOND), min_size=8, max_size=8))
        entries = []
        for num, time_us in zip(counts, times, strict=False):
            at_us += time_us
            entries.append(entry(snapshot(at_us=at_us, num_decoded=num, num_steps=num, started_us=started_us + life)))
        found.append(entries)
    return found


@given(lives())
def test_rates_add_up_to_the_counters_of_each_life(found: list[list[Entry]]) -> None:
    drawn = points([each for life in found for each in life])
    assert all(rate is None or rate >= 0 for each in drawn for rate in _rates(each))
    at = 0
    for life in found:
        own = drawn[at : at + len(life)]
        at += len(life)
        assert own[0].decode_per_s is None, "nothing is known of the time before the first snapshot of a life"
        for (before, after), point in zip(pairwise(life), own[1:], strict=True):
            seconds = (after.snapshot.unix_us - before.snapshot.unix_us) / SECOND
            growth = after.snapshot.work.num_decode_tokens - before.snapshot.work.num_decode_tokens
            assert point.decode_per_s is not None
            assert abs(point.decode_per_s * seconds - growth) <= 0.01 * seconds


def _rates(point: Point) -> list[float | None]:
    return [point.decode_per_s, point.prefill_per_s, point.step_ms, point.num_queried, point.num_hit, point.batch]
