"""Pictures from their bytes to a generation's message: bounded by headers, named by digest, shown to their owner."""

from __future__ import annotations

import base64
import io
import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest
import redis
from django.db import transaction
from django.test import Client
from PIL import Image

from inference.eventlog.keys import model_queue, pictures_key
from inference.eventlog.pictures import NoRoomForPictures, RedisPictures
from inference.protocol.codec import decode_generation, encode_events
from inference.protocol.events import AnyEvent, ContextAssembled, Frame, GenerationQueued, RequestFailed, first
from inference.protocol.request import GenerationRequest
from inference.safety import Guard
from tests.webapp.content.attachments.pictures import animated_gif, claiming, picture
from tests.webapp.content.attachments.test_files import begin, called, prepared, send, signed_in, upload
from tests.webapp.registered import registered
from webapp.content.attachments import store
from webapp.content.attachments.extraction.unreadable import Unreadable
from webapp.content.attachments.models import Attachment, Content
from webapp.content.attachments.pictures import is_picture, picture_of, read_picture
from webapp.lifecycle import tasks as lifecycle
from webapp.lifecycle.advance import advance
from webapp.lifecycle.settle import settle
from webapp.models.registry.models import RegisteredModel
from webapp.requests import services
from webapp.requests.input import MessagesInput
from webapp.requests.models import Request
from webapp.traces.export.redact import redact

SEEING = "seeing"
PNG, JPEG, GIF, WEBP = map(picture, ("PNG", "JPEG", "GIF", "WEBP"))
GIF_TABLE = 3 * 2 ** ((GIF[10] & 7) + 1) if GIF[10] & 0x80 else 0


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("JPEG", {}),
        ("JPEG", {"progressive": True}),
        ("WEBP", {}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"exif": b"Exif\x00\x00"}),
        ("GIF", {}),
    ],
)
def test_the_header_tells_the_size_and_the_end_is_found(kind: str, options: dict[str, Any]) -> None:
    data = picture(kind, 300, 7, **options)
    found = read_picture(data + b"<script>a polyglot's second half</script>")
    assert (found.image.width, found.image.height) == (300, 7)
    assert found.image.media_type == f"image/{kind.lower()}" and found.image.num_bytes == len(found.data)
    assert found.data == data
    for end in range(12, len(data) - 1, 7):
        with pytest.raises(Unreadable, match=r"cut short|no valid"):
            read_picture(data[:end])


def test_of_a_gif_the_first_frame_goes() -> None:
    found = read_picture(animated_gif())
    with Image.open(io.BytesIO(found.data)) as shown:
        assert getattr(shown, "n_frames", 0) == 1 and shown.size == (20, 10)
        shown.load()


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.png", claiming(100_000, 100_000), "100,000 by 100,000 pixels"),
        ("a.png", claiming(0, 5), "no pixels"),
        ("a.png", PNG[:40], "cut short"),
        ("a.jpg", PNG, "ends in .jpg, but its content is image/png"),
        ("a.txt", PNG, "ends in .txt"),
        ("a.png", b"Text", "no PNG, JPEG"),
        ("a.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG is refused"),
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG is refused"),
        ("a.png", PNG + b"x" * (5 << 20), "more than 5 MiB"),
        ("a.jpg", b"\xff\xd8" + b"\xff\x00" * 10_000, "cut short"),
        ("a.webp", b"RIFF\x10\x00\x00\x00WEBPnone" + bytes(20), "no valid WebP"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(40), "no valid PNG"),
    ],
)
def test_a_bad_picture_is_refused_in_words(name: str, data: bytes, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        picture_of(name, data)


def with_frame_twice(data: bytes) -> bytes:
    """A JPEG whose second header of a frame claims other sides."""
    place = data.index(b"\xff\xc0")
    length = 2 + int.from_bytes(data[place + 2 : place + 4])
    frame = data[place : place + length]
    return data[: place + length] + frame[:5] + b"\xff\xff\xff\xff" + frame[9:] + data[place + length :]


@pytest.mark.parametrize(
    "data",
    [
        PNG[:33] + (bytes(4) + b"teXt" + bytes(4)) * 10_001 + PNG[33:],
        JPEG[:2] + b"\xff\xfe\x00\x02" * 10_001 + JPEG[2:],
        WEBP[:4] + (len(WEBP) + 80_000).to_bytes(4, "little") + WEBP[8:] + (b"junk" + bytes(4)) * 10_001,
        GIF[:13] + bytes(GIF_TABLE) + b"\x21\xfe\x00" * 10_001 + GIF[13 + GIF_TABLE :],
        GIF[:13] + bytes(GIF_TABLE) + b"\x21\xfe" + b"\x01x" * 50_001 + b"\x00" + GIF[13 + GIF_TABLE :],
    ],
)
def test_a_picture_of_too_many_parts_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable, match="0,000 parts"):
        read_picture(data)


def test_a_jpeg_has_one_size() -> None:
    with pytest.raises(Unreadable, match="no valid JPEG"):
        read_picture(with_frame_twice(JPEG))


@pytest.mark.parametrize("name", ["photo.jfif", "Shot at 18.14", "photo", "v1.2-final", "a.PNG"])
def test_an_unknown_ending_promises_no_kind(name: str) -> None:
    assert is_picture(name, PNG) and picture_of(name, PNG).image.media_type == "image/png"


@pytest.mark.parametrize("name", ["a.pdf", "a.py", "a.gif", "a.docx", "a.html"])
def test_a_known_ending_promises_its_own(name: str) -> None:
    with pytest.raises(Unreadable, match="ends in"):
        picture_of(name, PNG)


@pytest.fixture
def alice(redis_client: redis.Redis) -> Client:
    registered(SEEING, kind="remote", url="http://gpu:8000", has_vision=True)
    return signed_in("alice")


@pytest.fixture
def attached(alice: Client) -> str:
    return str(uploaded(alice)["id"])


def uploaded(by: Client, data: bytes = PNG, name: str = "photo.png", status: int = 201) -> dict[str, Any]:
    path = f"/api/attachments?model={SEEING}"
    response = by.post(path, {"file": _file(name, data)})
    assert response.status_code == status, response.content
    found: dict[str, Any] = response.json()
    return found


def _file(name: str, data: bytes) -> io.BytesIO:
    file = io.BytesIO(data)
    file.name = name
    return file


def generation(client: redis.Redis) -> GenerationRequest:
    """The message that a worker of the model would get."""
    version = services.prompt_services(SEEING).tokenizer.version
    message: Any = client.lindex(model_queue(SEEING, version), 0)
    assert len(message) < 100_000
    return decode_generation(json.loads(base64.b64decode(json.loads(message)["body"]))[0][0])


def context_of(events: list[AnyEvent]) -> ContextAssembled:
    found = first(events, ContextAssembled)
    assert found is not None
    return found


@pytest.mark.django_db(transaction=True)
def test_a_picture_is_ready_at_once_and_its_tokens_are_unknown(alice: Client) -> None:
    made = uploaded(alice)
    assert (made["status"], made["media_type"], made["width"], made["height"]) == ("ready", "image/png", 64, 48)
    assert made["num_tokens"] is None
    assert bytes(Content.objects.get(pk=made["id"]).data) == PNG


@pytest.mark.django_db(transaction=True)
def test_a_model_without_vision_refuses_by_its_name(alice: Client, attached: str) -> None:
    status, refused = upload(alice, "photo.png", PNG)
    assert status == 415 and "smollm2-135m-instruct reads no pictures" in refused["error"]["message"]
    body = {"text": "What is it?", "attachments": [attached]}
    status, refused = called(alice, "POST", f"/api/conversations/{begin(alice)}/messages", body)
    assert (status, refused["error"]["code"]) == (409, "cannot_attach")
    assert "reads no pictures" in refused["error"]["message"]


@pytest.mark.django_db(transaction=True)
def test_the_log_and_the_message_name_the_picture_and_have_no_byte_of_it(
    alice: Client, attached: str, redis_client: redis.Redis
) -> None:
    conversation = begin(alice, model=SEEING, system_prompt="Be brief.")
    sent = send(alice, conversation, "What is it?", attachments=[attached])
    events = prepared(sent)
    digest = Attachment.objects.get(pk=attached).sha256
    kinds = [(each.kind, each.source) for each in context_of(events).segments if each.kind != "template"]
    question = f"message:{sent['user_message']['id']}"
    assert kinds == [("system", "conversation:system"), ("image", f"attachment:{attached}"), ("user", question)]
    (shown,) = [each.image for each in context_of(events).segments if each.image is not None]
    assert (shown.sha256, shown.width, shown.height, shown.num_bytes) == (digest, 64, 48, len(PNG))
    assert base64.b64encode(PNG)[20:60] not in encode_events(events)
    (frame,) = redact([Frame(seq=1, events=tuple(events))])
    told = first(frame.events, ContextAssembled)
    assert told is not None and [each.image.sha256 for each in told.segments if each.image] == ["[redacted]"]
    asked = generation(redis_client)
    assert [(each.role, [part.image or part.text for part in each.parts]) for each in asked.chat] == [
        ("system", ["Be brief."]),
        ("user", [digest, "What is it?"]),
    ]
    key = pictures_key(asked.request_id)
    assert redis_client.hvals(key) == [PNG]
    assert 0 < redis_client.ttl(key) <= 600
    assert services.pictures().take(asked.request_id, asked.attempt, [digest]) == {digest: PNG}


@pytest.mark.django_db(transaction=True)
def test_a_request_that_ends_without_a_worker_leaves_no_bytes(
    alice: Client, attached: str, redis_client: redis.Redis
) -> None:
    sent = send(alice, begin(alice, model=SEEING), "What is it?", attachments=[attached])
    request_id = sent["assistant_message"]["request_id"]
    lifecycle.prepare(request_id)
    assert redis_client.exists(pictures_key(request_id))
    settle(request_id)
    assert not redis_client.exists(pictures_key(request_id))


@pytest.mark.django_db(transaction=True)
def test_a_server_without_room_for_pictures_refuses_in_words(
    alice: Client, attached: str, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NoRoomForPictures

    monkeypatch.setattr(RedisPictures, "put", refuse)
    sent = send(alice, begin(alice, model=SEEING), "What is it?", attachments=[attached])
    request_id = sent["assistant_message"]["request_id"]
    lifecycle.prepare(request_id)
    events = [event for frame in services.event_log().read(request_id) for event in frame.events]
    assert first(events, ContextAssembled) is not None and first(events, GenerationQueued) is None
    failed = first(events, RequestFailed)
    assert failed is not None and failed.code == "overloaded" and "pictures" in failed.message


@pytest.mark.django_db(transaction=True)
def test_another_attempt_without_room_ends_the_request_in_words(
    alice: Client, attached: str, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NoRoomForPictures

    sent = send(alice, begin(alice, model=SEEING), "What is it?", attachments=[attached])
    request_id = sent["assistant_message"]["request_id"]
    lifecycle.prepare(request_id)
    redis_client.delete(model_queue(SEEING, services.prompt_services(SEEING).tokenizer.version))
    monkeypatch.setattr(RedisPictures, "put", refuse)
    advance(request_id)
    request = Request.objects.get(pk=request_id)
    assert (request.attempt > 1, request.error_code) == (True, "overloaded")


@pytest.mark.django_db(transaction=True)
def test_the_bytes_lie_ready_before_the_log_and_the_lease_tell_of_the_generation(
    alice: Client, attached: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []
    put = RedisPictures.put

    def noting(self: RedisPictures, request_id: str, *given: Any) -> None:
        frames = services.event_log().read(request_id)
        told.append(any(isinstance(event, GenerationQueued) for frame in frames for event in frame.events))
        put(self, request_id, *given)

    monkeypatch.setattr(RedisPictures, "put", noting)
    prepared(send(alice, begin(alice, model=SEEING), "What is it?", attachments=[attached]))
    assert told == [False]


@pytest.mark.django_db(transaction=True)
def test_the_users_words_are_checked_where_a_picture_is_last(
    alice: Client, attached: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = begin(alice, model=SEEING)
    sent = send(alice, conversation, "What is it?", attachments=[attached])
    request = Request.objects.get(pk=sent["assistant_message"]["request_id"])
    assert isinstance(request.input, MessagesInput)
    texts = tuple(each for each in request.input.messages if each.image is None)
    pictures = tuple(each for each in request.input.messages if each.image is not None)
    request.input = msgspec.structs.replace(request.input, messages=(*texts, *pictures))
    request.save()
    checked: list[str] = []
    check = Guard.check

    def noting(self: Guard, text: str, *given: Any, **more: Any) -> Any:
        checked.append(text)
        return check(self, text, *given, **more)

    monkeypatch.setattr(Guard, "check", noting)
    lifecycle.prepare(request.pk)
    assert any("What is it?" in text for text in checked)


@pytest.mark.django_db(transaction=True)
def test_a_picture_stays_with_its_message_in_later_prompts(
    alice: Client, attached: str, redis_client: redis.Redis
) -> None:
    conversation = begin(alice, model=SEEING)
    sent = send(alice, conversation, "What is it?", attachments=[attached])
    (shown,) = sent["user_message"]["files"]
    assert alice.get(f"/api/pictures/{shown['picture']}").status_code == 200
    prepared(sent)
    events = prepared(send(alice, conversation, "And now?", parent_id=sent["assistant_message"]["id"]))
    assert [each.kind for each in context_of(events).segments if each.kind not in ("template", "system")] == [
        "image",
        "history",
        "history",
        "user",
    ]
    assert [each.role for each in generation(redis_client).chat if each.role != "system"] == [
        "user",
        "assistant",
        "user",
    ]


@pytest.mark.django_db(transaction=True)
def test_a_chat_with_a_picture_fails_in_words_where_its_model_lost_its_vision(alice: Client, attached: str) -> None:
    conversation = begin(alice, model=SEEING)
    sent = send(alice, conversation, "What is it?", attachments=[attached])
    RegisteredModel.objects.filter(pk=SEEING).update(has_vision=False)
    failed = first(prepared(sent), RequestFailed)
    assert failed is not None and failed.code == "unsupported"
    assert "seeing reads no pictures. Choose a model with vision" in failed.message


@pytest.mark.django_db(transaction=True)
def test_its_owner_alone_sees_it_and_no_browser_runs_it(alice: Client, attached: str) -> None:
    path = f"/api/pictures/{Attachment.objects.get(pk=attached).sha256}"
    shown = alice.get(path)
    assert (shown.status_code, shown.content, shown["Content-Type"]) == (200, PNG, "image/png")
    assert shown["Content-Disposition"] == 'attachment; filename="picture.png"'
    assert shown["Content-Security-Policy"].startswith("sandbox")
    assert (shown["X-Content-Type-Options"], shown["Cache-Control"]) == ("nosniff", "private, no-store")
    assert signed_in("bob").get(path).status_code == 404
    assert Client().get(path).status_code == 401
    for digest in ("0" * 64, "x"):
        assert alice.get(f"/api/pictures/{digest}").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_prompt_has_twenty_pictures_at_most(alice: Client) -> None:
    conversation, parent = begin(alice, model=SEEING), None
    status = 0
    for number in range(4):
        pictures = [uploaded(alice, picture("PNG", 8 + number, 8 + at))["id"] for at in range(8 if number < 3 else 1)]
        body = {"text": "Look", "attachments": pictures, "parent_id": parent}
        status, sent = called(alice, "POST", f"/api/conversations/{conversation}/messages", body)
        if status != 201:
            assert "20 pictures" in sent["error"]["message"]
            break
        prepared(sent)
        parent = sent["assistant_message"]["id"]
    assert status == 409 and number == 2


@pytest.mark.django_db(transaction=True)
def test_the_pictures_of_calls_are_bounded_in_number(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    user = uploaded(alice) and Attachment.objects.get().user_id
    monkeypatch.setattr(store, "MAX_CALLED", 2)
    for height in (10, 11):
        keep(user, read_picture(picture("PNG", 9, height)))
    with pytest.raises(store.NoRoom, match="2 pictures"):
        keep(user, read_picture(picture("PNG", 9, 12)))
    rows = Attachment.objects.filter(is_of_call=True)
    rows.filter(height=10).update(created_at=rows.get(height=10).created_at - timedelta(hours=1))
    keep(user, read_picture(picture("PNG", 9, 12)))
    assert sorted(rows.values_list("height", flat=True)) == [11, 12]


@pytest.mark.django_db(transaction=True)
def test_the_pictures_of_calls_make_room_for_new_ones(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    user = uploaded(alice) and Attachment.objects.get().user_id
    old, new = read_picture(picture("PNG", 9, 9)), read_picture(picture("PNG", 9, 10))
    monkeypatch.setattr(store, "MAX_CALLED_BYTES", len(new.data) + 10)
    keep(user, old)
    with pytest.raises(store.NoRoom, match="last calls"):
        keep(user, new)
    rows = Attachment.objects.filter(is_of_call=True)
    rows.update(created_at=rows.get().created_at - timedelta(hours=1))
    keep(user, new)
    assert rows.get().sha256 == new.image.sha256
    assert len(called(alice, "GET", "/api/attachments")[1]["attachments"]) == 1


def keep(user_id: int, found: Any) -> None:
    with transaction.atomic():
        store.keep_called(user_id, [found], SEEING)
