"""The steps of an answer, however its text is released."""

from __future__ import annotations

from msgspec.structs import replace

from inference.protocol.events import AnyEvent, RequestAccepted, TextReleased
from inference.protocol.request import SamplingParams
from inference.protocol.tool_calls import Tool, ToolCalls
from tests.webapp.traces.file.test_archive import token
from webapp.surfaces.calls.answer import AnswerReader, Text

PARAMS = SamplingParams(tool_calls=ToolCalls(tools=(Tool(name="now"),)))
ACCEPTED = RequestAccepted(at=0, request_id="r", surface="openai", model="m", params=PARAMS, accepted_unix_us=0)


def test_text_that_is_held_back_keeps_its_tokens() -> None:
    """`<` may begin a call, until the next text shows that it does not."""
    events: list[AnyEvent] = [ACCEPTED]
    for position, text in enumerate(["1 ", "<", " 2"]):
        events.append(replace(token(position), piece=text.encode()))
        events.append(TextReleased(at=position, text=text, num_tokens=position + 1))
    steps = [step for step in AnswerReader().feed(events) if isinstance(step, Text)]
    assert [step.text for step in steps] == ["1 ", "< 2"]
    assert [[each.piece for each in step.tokens] for step in steps] == [[b"1 "], [b"<", b" 2"]]
