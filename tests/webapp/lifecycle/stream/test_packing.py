"""A saved trace's frames on the wire: fewer frames, with the same events under the same numbers."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.events import Frame, TextReleased
from webapp.lifecycle.stream.frames import packed

SIZES = st.lists(st.integers(1, 300), max_size=60)


def log(sizes: list[int], first: int) -> list[Frame]:
    frames, seq = [], first
    for size in sizes:
        events = tuple(TextReleased(at=seq + index, text="a", num_tokens=1) for index in range(size))
        frames.append(Frame(seq=seq, events=events))
        seq += size
    return frames


@given(SIZES, st.integers(1, 10_000))
def test_packing_keeps_every_event_and_its_number(sizes: list[int], first: int) -> None:
    frames = log(sizes, first)
    found = packed(frames)
    assert [event for frame in found for event in frame.events] == [event for frame in frames for event in frame.events]
    assert all(frame.seq == frame.events[0].at for frame in found)
    assert all(after.seq == before.last_seq + 1 for before, after in itertools.pairwise(found))


@given(SIZES)
def test_frames_stay_whole_and_no_two_neighbours_would_fit_into_one(sizes: list[int]) -> None:
    frames = log(sizes, 1)
    ends = {frame.last_seq for frame in frames}
    found = packed(frames)
    assert all(frame.last_seq in ends for frame in found)
    assert all(len(frame.events) <= max(128, *sizes) for frame in found)
    assert len(found) <= 1 + 2 * sum(sizes) // 128
