"""Pictures in calls of both families: taken as data where the model has vision, and refused in words elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import redis
from django.contrib.auth.models import User

from inference.eventlog.clock import unix_us
from inference.protocol.events import RequestAccepted, SentCall, first
from tests.webapp.api.families.calls import call, key_of
from tests.webapp.content.attachments.pictures import claiming, picture
from tests.webapp.registered import CONFIGURED, registered
from webapp.api.anthropic import call as anthropic
from webapp.api.anthropic.shapes import MessageBody
from webapp.api.openai import chat
from webapp.api.openai.responses import parse
from webapp.api.openai.responses.shapes import ResponseBody
from webapp.api.openai.shapes import ChatBody
from webapp.content.attachments.models import Attachment
from webapp.content.attachments.store import picture_bytes
from webapp.lifecycle.start import Arrival
from webapp.requests import services
from webapp.requests.models import Request
from webapp.surfaces.calls.call import Call, begin

pytestmark = pytest.mark.django_db(transaction=True)
SEEING = "seeing"
PNG = picture("PNG")


def uri(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def chat_body(*addresses: str, model: str = SEEING) -> dict[str, Any]:
    parts = [{"type": "image_url", "image_url": {"url": each, "detail": "low"}} for each in addresses]
    content = [{"type": "text", "text": "What is it?"}, *parts]
    return {"model": model, "messages": [{"role": "user", "content": content}], "max_tokens": 4}


def response_body(*addresses: str, model: str = SEEING) -> dict[str, Any]:
    parts = [{"type": "input_image", "image_url": each} for each in addresses]
    content = [{"type": "input_text", "text": "What is it?"}, *parts]
    return {"model": model, "input": [{"role": "user", "content": content}], "max_output_tokens": 4}


def message_body(*addresses: str, model: str = SEEING) -> dict[str, Any]:
    content = [{"type": "text", "text": "What is it?"}, *map(block, addresses)]
    return {"model": model, "messages": [{"role": "user", "content": content}], "max_tokens": 4}


def block(address: str) -> dict[str, Any]:
    if not address.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": address}}
    kind, _, data = address.removeprefix("data:").partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


Body = Callable[..., dict[str, Any]]
BODIES: dict[str, Body] = {
    "/v1/chat/completions": chat_body,
    "/v1/responses": response_body,
    "/v1/messages": message_body,
}
EVERY = pytest.mark.parametrize(("path", "body"), BODIES.items())


@pytest.fixture
def key(redis_client: redis.Redis) -> str:
    registered(SEEING, kind="remote", url="http://gpu:8000", has_vision=True)
    return key_of()


def call_of(path: str, body: dict[str, Any], user: User) -> Call:
    """As the address reads it."""
    if path == "/v1/chat/completions":
        return chat.call_of(msgspec.convert(body, ChatBody))
    if path == "/v1/responses":
        return parse.call_of(msgspec.convert(body, ResponseBody), user.pk)
    return anthropic.call_of(msgspec.convert(body, MessageBody))


@EVERY
def test_a_picture_is_kept_for_its_user_and_only_named_in_the_log(key: str, path: str, body: Body) -> None:
    user = User.objects.get(username="alice")
    sent = SentCall(path=path, body="the body with the picture")
    arrival = Arrival(unix_us(), "openai", sent=sent)
    begun = begin(call_of(path, body(uri(PNG), uri(PNG)), user), user.pk, arrival, None)
    request = Request.objects.get(pk=begun.requests[0].pk)
    assert [each.kind for each in request.input.messages] == ["user", "image", "image"]
    (row,) = Attachment.objects.all()
    assert row.is_of_call and {each.image for each in request.input.messages[1:]} == {row.image}
    assert picture_bytes(user.pk, row.sha256) == PNG
    assert picture_bytes(user.pk + 1, row.sha256) is None
    accepted = first(
        [event for frame in services.event_log().read(request.pk) for event in frame.events], RequestAccepted
    )
    assert accepted is not None and accepted.sent is None


@EVERY
@pytest.mark.parametrize(
    ("addresses", "words"),
    [
        (["https://example.com/a.png"], "No picture is fetched from an address here"),
        (["file:///etc/passwd"], "No picture is fetched from an address here"),
        (["data:image/png;base64,***"], "base64"),
        ([uri(PNG, "image/jpeg")], "is said to be 'image/jpeg', and its bytes are image/png"),
        ([uri(PNG[:50])], "cut short"),
        ([uri(claiming(100_000, 100_000))], "100,000 by 100,000 pixels"),
        ([uri(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml")], "SVG is refused"),
        ([uri(PNG)] * 30, "20 pictures"),
    ],
)
def test_a_bad_picture_is_refused_in_words(key: str, path: str, body: Body, addresses: list[str], words: str) -> None:
    refused = call(path, body(*addresses), key)
    assert refused.status == 400 and words in refused.error["message"]
    assert not Attachment.objects.exists() and not Request.objects.exists()


def test_a_common_name_of_jpeg_is_jpeg(key: str) -> None:
    body = msgspec.convert(chat_body(uri(picture("JPEG"), "image/jpg")), ChatBody)
    (found,) = chat.call_of(body).pictures
    assert found.image.media_type == "image/jpeg"


@EVERY
def test_a_model_without_vision_is_named(key: str, path: str, body: Body) -> None:
    refused = call(path, body(uri(PNG), model=CONFIGURED), key)
    assert refused.status == 400
    assert f"{CONFIGURED} reads no pictures. Choose a model with vision" in refused.error["message"]


@pytest.mark.parametrize(
    ("path", "body"), [("/v1/responses/input_tokens", response_body), ("/v1/messages/count_tokens", message_body)]
)
def test_the_tokens_of_a_picture_are_not_made_up(key: str, path: str, body: Body) -> None:
    given = {name: value for name, value in body(uri(PNG)).items() if "max" not in name}
    refused = call(path, given, key)
    assert refused.status == 400 and "Only the model's server knows" in refused.error["message"]


def test_no_system_prompt_and_no_tools_result_has_a_picture(key: str) -> None:
    part = {"type": "image_url", "image_url": {"url": uri(PNG)}}
    body = chat_body() | {"messages": [{"role": "system", "content": [part]}, {"role": "user", "content": "Hi"}]}
    refused = call("/v1/chat/completions", body, key)
    assert refused.status == 400 and "image_url cannot stand here" in refused.error["message"]
