"""A new event is cheap: what stands beside its struct is all that timeline, journey, exports and redaction need.

Its author writes the struct in events/<prefix>.py, lists it in events/__init__.py, and emits it where it happens; the
generator writes frontend/src/protocol/events.ts. The page's side of the same event stands
in frontend/src/trace/new-event.test.ts.
"""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar, get_args, get_type_hints

import msgspec
import pytest

from inference.protocol.events import AnyEvent, Event, Frame, RequestAccepted
from inference.protocol.events.shown import Shown
from inference.protocol.request import SamplingParams
from inference.protocol.typescript import build_shown
from webapp.traces.export.redact import TEXT, redact
from webapp.traces.export.spans import Log, spans


class CacheWarmed(Event, frozen=True, kw_only=True, tag="cache.warmed"):
    """Blocks were copied from another worker."""

    num_blocks: int
    source: str
    """Of which worker."""

    unredacted: ClassVar = "num_blocks"
    shown: ClassVar = Shown(
        lane="prefill",
        is_mark=True,
        label="{num_blocks|block} copied from {source}",
        meaning="Another worker had read this prompt.",
        scene="cache",
        replay_ms=700,
    )


ACCEPTED = RequestAccepted(
    at=0, request_id="req_1", surface="chat", model="m", params=SamplingParams(), accepted_unix_us=1
)
FRAMES: list[Any] = [Frame(seq=1, events=(ACCEPTED, CacheWarmed(at=9, num_blocks=3, source="gpu-7")))]  # type: ignore[arg-type]


def test_a_new_event_has_its_row_in_the_pages_table() -> None:
    (row,) = re.findall(r'"cache.warmed": (\{.*\}),', build_shown([CacheWarmed]))
    assert msgspec.convert(json.loads(row), Shown) == CacheWarmed.shown


def test_a_new_event_is_a_moment_of_its_lane_in_exports() -> None:
    (span,) = [span for span in spans(Log(FRAMES)) if isinstance(span.event, CacheWarmed)]
    assert (span.stage, span.start, span.end) == ("prefill", 9, None)


def test_a_new_event_is_redacted_but_for_what_it_keeps() -> None:
    (frame,) = redact(FRAMES)
    assert frame.events[1] == CacheWarmed(at=9, num_blocks=3, source=TEXT)


def test_an_event_that_says_nothing_of_it_is_left_out_of_a_redacted_trace() -> None:
    class Silent(Event, frozen=True, kw_only=True, tag="cache.silent"):
        text: str

    assert redact([Frame(seq=1, events=(Silent(at=0, text="secret"),))]) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", get_args(AnyEvent), ids=lambda kind: kind.__name__)
def test_labels_and_unredacted_name_fields_that_there_are(kind: type[Event]) -> None:
    names = {field.name for field in msgspec.structs.fields(kind)}
    assert set((kind.unredacted or "").split()) < names
    for path, noun in re.findall(r"\{([\w.]+)(\|?)[\w|]*\}", kind.shown.label):
        value: Any = kind
        for name in path.split("."):
            value = get_type_hints(value)[name]
        assert (value is int or value == tuple[int, ...]) if noun else value is not tuple
    assert kind.shown.label.count("{") == len(re.findall(r"\{[\w.]+(?:\|\w+){0,2}\}", kind.shown.label))
