"""Events of older logs and traces stay readable, and lose what they told of the worker's other users."""

from __future__ import annotations

from inference.protocol.codec import decode_events, encode_events
from inference.protocol.events import BatchComposed

FORMER = b"""[
{"type": "batch.composed", "at": 1, "decoding": [3, 2], "prefilling": [24], "num_waiting": 1},
{"type": "cache.looked_up", "at": 2, "block_size": 16, "hits": [true], "num_cached_tokens": 16, "blocks": [7],
 "num_owners": [1], "eviction_ranks": [3], "num_idle_blocks": 5, "num_free_blocks": 4},
{"type": "cache.stored", "at": 3, "num_blocks": 1, "indices": [0], "blocks": [7]},
{"type": "cache.evicted", "at": 4, "num_blocks": 2, "blocks": [7, 9]},
{"type": "prefill.advanced", "at": 5, "start": 0, "end": 9, "total": 9, "step_us": 1, "num_sequences": 3,
 "num_batched_tokens": 90}
]"""


def test_a_former_trace_is_read_without_what_it_told_of_others() -> None:
    events = decode_events(FORMER)
    assert isinstance(events[0], BatchComposed)
    assert (events[0].num_decoding, events[0].num_prefilling, events[0].num_waiting) == (None, None, 1)
    again = encode_events(events)
    for former in (
        b'"decoding"',
        b'"prefilling"',
        b'"blocks"',
        b"eviction_ranks",
        b"num_idle",
        b"num_free",
        b"batched",
    ):
        assert former in FORMER
        assert former not in again
