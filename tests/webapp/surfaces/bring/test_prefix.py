"""The prefix of a prompt in whole blocks. The figures of all kinds of tokens together are the prompt."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.events import Segment
from inference.protocol.request import KeptTTL, Usage
from webapp.surfaces.bring.prefix import prefix_of

SPANS = st.lists(st.tuples(st.integers(1, 40), st.sampled_from([None, "5m", "1h"])), min_size=1, max_size=8)


def segments(spans: list[tuple[int, KeptTTL | None]]) -> list[Segment]:
    found, start = list[Segment](), 0
    for length, ttl in spans:
        end = start + length
        found.append(Segment(kind="history", role="user", start=start, end=end, source="s", text="t", breakpoint=ttl))
        start = end
    return found


def test_a_breakpoint_keeps_whole_blocks_for_its_time() -> None:
    found = prefix_of(segments([(20, "1h"), (30, "5m"), (5, None)]), 55, 16)
    assert [(each.num_tokens, each.ttl, each.num_kept) for each in found.marks] == [(20, "1h", 16), (50, "5m", 48)]
    assert found.first == Usage(uncached_input=7, cache_write_1h=16, cache_write_5m=32)
    assert found.again == Usage(uncached_input=7, cache_read=48)


def test_a_part_below_a_block_is_too_short() -> None:
    found = prefix_of(segments([(10, "5m"), (2, None)]), 12, 16)
    assert (found.marks[0].num_kept, found.first) == (0, Usage(uncached_input=12))


def test_the_last_token_is_always_computed() -> None:
    assert prefix_of(segments([(32, None)]), 32, 16).again == Usage(uncached_input=16, cache_read=16)


@given(SPANS, st.sampled_from([1, 4, 16]))
def test_every_token_is_counted_once(spans: list[tuple[int, KeptTTL | None]], block_size: int) -> None:
    num_tokens = sum(length for length, _ in spans)
    found = prefix_of(segments(spans), num_tokens, block_size)
    for usage in (found.first, found.again):
        assert sum(msgspec.structs.astuple(usage)) == num_tokens
        assert min(msgspec.structs.astuple(usage)) >= 0
    assert found.num_reusable < num_tokens
