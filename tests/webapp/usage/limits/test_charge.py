"""What a request may use at most."""

from __future__ import annotations

import msgspec
import pytest

from inference.protocol.events import Image, Segment
from inference.protocol.request import SamplingParams
from tests.webapp.inputs import SAVED
from tests.webapp.registered import CONFIGURED
from webapp.ground.context.assemble import SourceMessage
from webapp.requests import services
from webapp.requests.input import ForkInput, MessagesInput, RequestInput
from webapp.requests.models import Request
from webapp.usage.limits.charge import charges_of

pytestmark = pytest.mark.django_db


def most_input(parent: Request) -> int:
    source = ForkInput((SourceMessage("user", "What is 17 * 23?", "message:1", "user"),), (1, 2), is_written=False)
    fork = Request(model=CONFIGURED, input=source, forked_from=parent)
    return charges_of([fork], [SamplingParams(max_tokens=10)])[0].most_input


def test_a_fork_of_an_answer_with_tools_may_fill_the_window() -> None:
    window = services.prompt_services(CONFIGURED).window
    assert most_input(Request(rounds=None)) < window
    assert most_input(Request(rounds=[{"text": "", "calls": []}])) == window


IMAGE = Image(sha256="0" * 64, media_type="image/png", num_bytes=9, width=3, height=3)
SEGMENT = Segment(role="user", source="attachment:a", kind="image", start=0, end=0, text="", image=IMAGE)
PICTURED = (SourceMessage("user", "", "attachment:a", "image", image=IMAGE), SourceMessage("user", "Hi", "m", "user"))


@pytest.mark.parametrize(
    "source",
    [
        MessagesInput(PICTURED),
        msgspec.structs.replace(SAVED, messages=PICTURED),
        msgspec.structs.replace(SAVED, context=msgspec.structs.replace(SAVED.context, segments=(SEGMENT,))),
    ],
)
def test_a_prompt_with_pictures_may_fill_the_window(source: RequestInput) -> None:
    window = services.prompt_services(CONFIGURED).window
    request = Request(model=CONFIGURED, input=source)
    assert charges_of([request], [SamplingParams(max_tokens=10)])[0].most_input == window
