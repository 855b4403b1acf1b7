"""The native API without a worker: access rights, and answers to bad input."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tomllib
from contextlib import closing
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
import redis
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from inference.eventlog.event_log import Fenced
from inference.eventlog.keys import log_key, worker_key
from inference.protocol.events import (
    ClientTiming,
    Frame,
    GatewayChecked,
    RequestAccepted,
    RequestObserved,
    ServerInterval,
    TextReleased,
)
from inference.protocol.failures import Failure
from inference.protocol.request import SamplingParams
from inference.tokenization.gguf_metadata import Metadata
from tests.events import STARTED
from tests.inference.tokenization.vocabulary_files import write_byte_level
from tests.webapp.watching import QUEUE_S, STALL_S, StillClock, attend_after
from webapp.api.surfaces.chat.conversations import change
from webapp.api.surfaces.chat.schema import ConversationChange
from webapp.ground.context.assemble import SourceMessage
from webapp.identity.accounts.models import Session
from webapp.lifecycle.settle import settle
from webapp.lifecycle.start import QueueUnavailable, start
from webapp.lifecycle.watchdog import Watch
from webapp.models.registry.models import RegisteredModel
from webapp.operations.supervisor.checks import lock
from webapp.requests import services
from webapp.requests.input import MessagesInput
from webapp.requests.models import Request
from webapp.surfaces.chat.models import Conversation, Message
from webapp.traces import store
from webapp.usage.limits import window

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _redis(redis_client: object) -> None:
    """Every request is logged and queued in a real server; no worker takes it."""


def sign_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get_or_create(username=name)[0])
    return client


@pytest.fixture
def alice() -> Client:
    return sign_in("alice")


@pytest.fixture
def bob() -> Client:
    return sign_in("bob")


def post(client: Client, path: str, body: object) -> tuple[int, dict]:  # type: ignore[type-arg]
    response = client.post(path, json.dumps(body), content_type="application/json")
    return response.status_code, response.json() if response.content else {}


@pytest.fixture
def conversation(alice: Client) -> str:
    status, body = post(alice, "/api/conversations", {"system_prompt": ""})
    assert status == 201
    return str(body["id"])


def send(client: Client, conversation: str, text: str = "Hello", **more: object) -> tuple[int, dict]:  # type: ignore[type-arg]
    return post(client, f"/api/conversations/{conversation}/messages", {"text": text, **more})


def test_a_sent_message_is_logged_and_queued(alice: Client, conversation: str) -> None:
    status, body = send(alice, conversation)
    assert status == 201
    request = Request.objects.get()
    assert body["assistant_message"]["request_id"] == request.pk
    assert body["assistant_message"]["figures"] is None
    assert body["title"] == Conversation.objects.get().title == "Hello"
    events = [event for frame in services.event_log().read(request.pk) for event in frame.events]
    assert [type(event).__name__ for event in events] == ["RequestAccepted", "GatewayChecked"]
    question = SourceMessage("user", "Hello", f"message:{body['user_message']['id']}", "user")
    assert request.input == MessagesInput((question,))


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"text": ""}, 400, "empty"),
        ({"text": " \n\t "}, 400, "empty"),
        ({"text": "a\x00b"}, 400, "invalid_text"),
        ({"text": "x" * 300_000}, 413, "too_large"),
        ({"text": "x" * (5 << 20)}, 413, "too_large"),
        ({"text": 5}, 400, "invalid"),
        ({}, 400, "invalid"),
        ({"text": "a", "nonsense": 1}, 400, "invalid"),
        ({"text": "a", "parent_id": "msg_none"}, 404, "not_found"),
        ({"text": "a", "params": {"temperature": -1}}, 400, "invalid"),
        ({"text": "a", "params": {"top_p": 0}}, 400, "invalid"),
        ({"text": "a", "params": {"max_tokens": 0}}, 400, "invalid"),
        ({"text": "a", "params": {"max_tokens": 10**12}}, 400, "invalid"),
        ({"text": "a", "params": {"stop": ["a"] * 9}}, 400, "invalid"),
        ({"text": "a", "n": 0}, 400, "invalid"),
        ({"text": "a", "n": 9}, 400, "invalid"),
        ({"text": "a", "n": 10**30}, 400, "invalid"),
        ({"text": "a", "n": 1.5}, 400, "invalid"),
        ({"text": "a", "n": True}, 400, "invalid"),
    ],
)
def test_bad_messages_get_a_clear_error(alice: Client, conversation: str, body: object, status: int, code: str) -> None:
    found, answer = post(alice, f"/api/conversations/{conversation}/messages", body)
    assert (found, answer["error"]["code"]) == (status, code)
    assert len(answer["error"]["message"]) > 10
    assert not Request.objects.exists()


@pytest.mark.parametrize("data", [b"", b"{", b'{"text": "\\ud800"}', b'{"text": NaN}', b"\xff\xfe", b"[]", b"null"])
def test_what_is_not_json_gets_a_clear_error(alice: Client, conversation: str, data: bytes) -> None:
    response = alice.post(f"/api/conversations/{conversation}/messages", data, content_type="application/json")
    assert response.status_code == 400
    assert response.json()["error"]["message"]


def test_every_plane_of_unicode_is_accepted(alice: Client, conversation: str) -> None:
    text = "".join(chr(plane * 0x10000 + 0x41) for plane in range(17)) + "\x01\x1b\u200f<|im_end|>"
    status, body = send(alice, conversation, text)
    assert (status, body["user_message"]["text"]) == (201, text)


def test_an_unknown_model_is_named(alice: Client) -> None:
    status, body = post(alice, "/api/conversations", {"model": "gpt-9"})
    assert (status, body["error"]["field"]) == (404, "model")


def test_other_peoples_things_are_not_there(alice: Client, bob: Client, conversation: str) -> None:
    _, body = send(alice, conversation)
    answer = body["assistant_message"]
    request_id = answer["request_id"]
    for path in (
        f"/api/conversations/{conversation}",
        f"/api/requests/{request_id}",
        f"/api/requests/{request_id}/export",
        f"/api/requests/{request_id}/events",
    ):
        assert bob.get(path).status_code == 404, path
    for path in (
        f"/api/conversations/{conversation}/messages",
        f"/api/messages/{answer['id']}/regenerate",
        f"/api/requests/{request_id}/cancel",
        f"/api/requests/{request_id}/observed",
    ):
        assert post(bob, path, {"text": "hi"} if path.endswith("messages") else {})[0] == 404, path
    assert bob.delete(f"/api/conversations/{conversation}").status_code == 404
    assert bob.get("/api/requests").json()["requests"] == []
    assert bob.get("/api/conversations").json()["conversations"] == []


def test_a_conversation_is_listed_once_it_has_a_message_or_a_title(alice: Client, conversation: str) -> None:
    assert alice.get("/api/conversations").json()["conversations"] == []
    assert send(alice, conversation, params={"top_p": 0})[0] == 400
    assert alice.get("/api/conversations").json()["conversations"] == []
    send(alice, conversation)
    titles = [row["title"] for row in alice.get("/api/conversations").json()["conversations"]]
    assert titles == ["Hello"]


def test_a_conversation_is_found_by_what_was_said_in_it(alice: Client, bob: Client, conversation: str) -> None:
    send(alice, conversation, "Where is the lighthouse?")
    alice.patch(f"/api/conversations/{conversation}", '{"title": "Coast"}', content_type="application/json")
    Request.objects.update(output_text="On a cliff.")
    for words in ("coast", "LIGHTHOUSE", "cliff"):
        assert len(alice.get("/api/conversations", {"q": words}).json()["conversations"]) == 1
        assert bob.get("/api/conversations", {"q": words}).json()["conversations"] == []
    assert alice.get("/api/conversations", {"q": "harbour"}).json()["conversations"] == []


def test_a_stranger_is_asked_to_sign_in() -> None:
    assert Client().get("/api/conversations").status_code == 401
    assert Client().get("/").headers["Location"].startswith("/accounts/login/")
    assert Client().get("/api/requests/req_x/events").status_code == 401


def test_who_signed_out_in_another_process_is_signed_out_here_too(alice: Client) -> None:
    assert alice.get("/api/conversations").status_code == 200
    Session.objects.all().delete()  # in the database, as another process does it
    assert alice.get("/api/conversations").status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        "/api/conversations?q=%00",
        "/api/requests?q=a%00b",
        "/api/conversations/a%00",
        "/api/requests/a%00",
        "/api/requests/a%00/events",
        "/signin/a%00",
    ],
)
def test_a_nul_in_the_address_is_refused(alice: Client, path: str) -> None:
    response = alice.get(path)
    assert response.status_code == 400
    if path.startswith("/api/"):
        assert response.json()["error"]["code"] == "invalid"


def test_writes_need_the_csrf_token(alice: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="alice"))
    response = strict.post("/api/conversations", "{}", content_type="application/json")
    assert (response.status_code, response.json()["error"]["code"]) == (403, "csrf")


def test_a_write_without_a_sign_in_is_told_so_before_its_csrf_token_is_judged(alice: Client) -> None:
    stranger = Client(enforce_csrf_checks=True)
    response = stranger.post("/api/conversations", "{}", content_type="application/json")
    assert (response.status_code, response.json()["error"]["code"]) == (401, "not_signed_in")


def test_branches_share_their_history(alice: Client, conversation: str) -> None:
    _, first = send(alice, conversation, "one")
    Request.objects.update(output_text="answer one", finished_at="2026-01-01T00:00Z")
    _, second = send(alice, conversation, "two", parent_id=first["assistant_message"]["id"])
    request = Request.objects.get(pk=second["assistant_message"]["request_id"])
    assert [message.content for message in request.input.messages] == ["one", "answer one", "two"]
    status, again = post(alice, f"/api/messages/{second['assistant_message']['id']}/regenerate", {})
    assert status == 201
    assert again["assistant_message"]["parent_id"] == second["user_message"]["id"]


def test_too_many_open_requests_are_refused(alice: Client, conversation: str, redis_client: redis.Redis) -> None:
    for _ in range(8):
        assert send(alice, conversation)[0] == 201
    response = alice.post(
        f"/api/conversations/{conversation}/messages", '{"text": "hi"}', content_type="application/json"
    )
    assert response.status_code == 429
    assert int(response.headers["Retry-After"]) > 0
    assert redis_client.llen("prepare") == 8  # nothing is queued of what is refused


def test_what_the_workers_have_no_place_for_is_refused_and_not_begun(
    alice: Client, conversation: str, redis_client: redis.Redis
) -> None:
    told = {"state": "ready", "model": "smollm2-135m-instruct", "num_places": "3"}
    redis_client.hset(worker_key("one"), mapping=told)
    assert send(alice, conversation, n=2)[0] == 201
    status, refused = send(alice, conversation, n=2)
    assert (status, refused["error"]["code"]) == (429, "overloaded")
    assert "only 1 of 2" in refused["error"]["message"]
    assert redis_client.llen("prepare") == Request.objects.count() == 2
    redis_client.hset(worker_key("two"), mapping=told)
    assert send(alice, conversation, n=2)[0] == 201


def answers_of(sent: dict[str, Any]) -> list[dict[str, Any]]:
    return [sent["assistant_message"], *sent["siblings"]]


def seeds_of(sent: dict[str, Any]) -> list[int]:
    return [Request.objects.get(pk=answer["request_id"]).params["seed"] for answer in answers_of(sent)]


def test_several_answers_are_branches_with_requests_and_seeds_of_their_own(alice: Client, conversation: str) -> None:
    status, sent = send(alice, conversation, n=3, params={"seed": 2**53 - 2})
    assert status == 201
    assert {answer["parent_id"] for answer in answers_of(sent)} == {sent["user_message"]["id"]}
    assert seeds_of(sent) == [2**53 - 2, 2**53 - 1, 0]
    shown = alice.get(f"/api/conversations/{conversation}").json()
    assert shown["leaf_id"] == sent["assistant_message"]["id"]
    assert shown["messages"][1:] == answers_of(sent)
    for before, answer in enumerate(answers_of(sent)):
        (frame,) = services.event_log().read(answer["request_id"])
        accepted, checked = frame.events
        assert isinstance(accepted, RequestAccepted) and accepted.request_id == answer["request_id"]
        assert isinstance(checked, GatewayChecked) and checked.limits[0].remaining == 8 - before


def test_the_number_of_answers_is_a_setting_of_the_conversation(alice: Client, conversation: str) -> None:
    path = f"/api/conversations/{conversation}"
    assert alice.patch(path, {"n": 9}, content_type="application/json").status_code == 400
    assert alice.patch(path, {"n": 2}, content_type="application/json").json()["n"] == 2
    _, sent = send(alice, conversation)
    assert len(set(seeds_of(sent))) == 2
    _, again = post(alice, f"/api/messages/{sent['siblings'][0]['id']}/regenerate", {})
    _, once = post(alice, f"/api/messages/{sent['siblings'][0]['id']}/regenerate", {"n": 1})
    assert (len(answers_of(again)), len(answers_of(once))) == (2, 1)
    assert Message.objects.filter(parent=sent["user_message"]["id"]).count() == 5


def test_answers_that_do_not_all_fit_are_refused_as_a_whole(alice: Client, conversation: str) -> None:
    send(alice, conversation, n=6)
    status, refused = send(alice, conversation, n=3)
    assert (status, refused["error"]["code"]) == (429, "too_many_requests")
    assert "at most 2" in refused["error"]["message"]
    assert Request.objects.count() == 6
    assert send(alice, conversation, n=2)[0] == 201


def test_of_answers_that_cannot_all_be_started_none_is_left(
    alice: Client, conversation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def start_two(request: Request, *rest: Any, **more: Any) -> None:
        if len(started) == 2:
            raise QueueUnavailable
        start(request, *rest, **more)
        started.append(request.pk)

    _, first = send(alice, conversation)
    monkeypatch.setattr("webapp.lifecycle.begin.start", start_two)
    for path in (f"conversations/{conversation}/messages", f"messages/{first['assistant_message']['id']}/regenerate"):
        started.clear()
        body = {"text": "Hi"} if path.endswith("messages") else {}
        status, refused = post(alice, f"/api/{path}", body | {"n": 3})
        assert (status, refused["error"]["code"]) == (503, "queue_unavailable")
        assert len(started) == 2
        for request_id in started:
            with pytest.raises(Fenced):  # neither preparation nor worker writes anything any more
                services.event_log().fence(request_id, 1)
            assert services.event_log().read(request_id) == []
        left = alice.get(f"/api/conversations/{conversation}").json()
        assert (left["leaf_id"], len(left["messages"])) == (first["assistant_message"]["id"], 2)
        assert Request.objects.count() == 1


def test_a_first_message_that_cannot_be_started_leaves_no_trace(
    alice: Client, conversation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise QueueUnavailable

    with monkeypatch.context() as patch:
        patch.setattr("webapp.lifecycle.begin.start", refuse)
        assert send(alice, conversation, text="Hello")[0] == 503
    assert alice.get("/api/conversations").json()["conversations"] == []
    assert send(alice, conversation, text="Good morning")[1]["title"] == "Good morning"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("word  " * 12, ("word " * 12)[:59]),
        ("word " * 13, f"{('word ' * 11)}word…"),
        ("x" * 61, "x" * 59 + "…"),
    ],
)
def test_a_title_is_cut_between_words(alice: Client, conversation: str, text: str, title: str) -> None:
    assert send(alice, conversation, text=text)[1]["title"] == title


def test_a_deleted_conversation_takes_no_more(alice: Client, conversation: str) -> None:
    assert alice.delete(f"/api/conversations/{conversation}").status_code == 204
    assert send(alice, conversation)[0] == 404


def test_settling_twice_posts_one_bill_and_one_end(alice: Client, conversation: str) -> None:
    _, body = send(alice, conversation)
    request_id = body["assistant_message"]["request_id"]
    failure = Failure("generation", "no_worker", "Start a worker.")
    settle(request_id, failure)
    settle(request_id, failure)
    events = [event for frame in store.load_frames(request_id) for event in frame.events]
    assert [type(event).__name__ for event in events].count("RequestFailed") == 1
    shown = alice.get(f"/api/requests/{request_id}").json()
    assert (shown["status"], shown["error"]["code"]) == ("failed", "no_worker")


def test_export_and_import_give_the_same_trace_to_another_owner(alice: Client, bob: Client, conversation: str) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    _, body = send(alice, conversation)
    request_id = body["assistant_message"]["request_id"]
    settle(request_id, Failure("generation", "no_worker", "Start a worker."))
    data = alice.get(f"/api/requests/{request_id}/export").content
    imported = bob.post("/api/requests/import", {"file": SimpleUploadedFile("t.sgtrace", data)})
    assert imported.status_code == 201
    copy = imported.json()["requests"][0]
    assert copy["is_imported"] and copy["id"] != request_id
    assert store.load_frames(copy["id"]) == store.load_frames(request_id)
    broken = bob.post("/api/requests/import", {"file": SimpleUploadedFile("t.sgtrace", data[:-3])})
    assert (broken.status_code, broken.json()["error"]["code"]) == (400, "invalid_trace")


def test_the_browsers_timing_is_kept_once(alice: Client, conversation: str) -> None:
    _, body = send(alice, conversation)
    request_id = body["assistant_message"]["request_id"]
    settle(request_id, Failure("generation", "no_worker", "Start a worker."))
    for unix in (5, 6):
        assert post(alice, f"/api/requests/{request_id}/observed", {"last_paint_unix_us": unix})[0] == 204
    last: Frame = store.load_frames(request_id)[-1]
    event = last.events[0]
    assert isinstance(event, RequestObserved)
    assert event.client == ClientTiming(last_paint_unix_us=5)


def test_the_session_names_the_most_answers_that_one_message_gets(alice: Client, conversation: str) -> None:
    most = alice.get("/api/session").json()["limits"]["num_answers"]
    assert send(alice, conversation, n=most + 1)[0] == 400
    assert len(send(alice, conversation, n=most)[1]["siblings"]) == most - 1


def test_a_page_that_is_opened_meanwhile_begins_with_what_was_released(alice: Client, conversation: str) -> None:
    _, body = send(alice, conversation)
    request_id = body["assistant_message"]["request_id"]

    def shown() -> tuple[str, str]:
        answer = alice.get(f"/api/conversations/{conversation}").json()["messages"][1]
        return answer["status"], answer["text"]

    assert shown() == ("streaming", "")
    released = [TextReleased(at=at, text=text, num_tokens=at) for at, text in enumerate(("The", " sky"), 1)]
    services.event_log().append(request_id, released, 1)
    assert shown() == ("streaming", "The sky")
    services.event_log().forget(request_id)
    assert shown() == ("streaming", "")


def test_the_list_tells_in_which_conversations_an_answer_is_written(alice: Client, conversation: str) -> None:
    def is_streaming() -> list[bool]:
        return [row["is_streaming"] for row in alice.get("/api/conversations").json()["conversations"]]

    _, sent = send(alice, conversation, n=2)
    assert is_streaming() == [True]
    for answer in answers_of(sent):
        assert alice.post(f"/api/requests/{answer['request_id']}/cancel").status_code == 202
    assert is_streaming() == [False]


def test_the_browser_tells_what_the_server_timing_header_said(alice: Client, conversation: str) -> None:
    _, body = send(alice, conversation)
    request_id = body["assistant_message"]["request_id"]
    settle(request_id, Failure("generation", "no_worker", "Start a worker."))
    path = f"/api/requests/{request_id}/observed"
    for wrong in ([{"name": "two words"}], [{"name": "a", "duration_us": -1}], [{"name": "a"}] * 17):
        status, body = post(alice, path, {"server_timing": wrong})
        assert (status, body["error"]["field"]) == (400, "client.server_timing")
    assert post(alice, path, {"server_timing": [{"name": "auth", "duration_us": 1200}]})[0] == 204
    event = store.load_frames(request_id)[-1].events[0]
    assert isinstance(event, RequestObserved)
    assert event.client.server_timing == (ServerInterval(name="auth", duration_us=1200),)


def test_the_session_names_the_projects_version(alice: Client) -> None:
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text("utf-8"))["project"]
    assert alice.get("/api/session").json()["version"] == project["version"]


@pytest.mark.parametrize(
    ("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("::1", "[::1]")]
)
def test_the_command_prints_a_link_that_a_browser_here_can_open(
    host: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "ENVIRONMENT", dataclasses.replace(settings.ENVIRONMENT, host=host, port=8123))
    printed = StringIO()
    call_command("signin_link", stdout=printed)
    link = printed.getvalue().strip()
    assert link.startswith(f"http://{shown}:8123/signin/")
    assert Client().get(urlsplit(link).path).status_code == 200


def test_the_command_finds_the_running_products_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "ENVIRONMENT", dataclasses.replace(settings.ENVIRONMENT, data=tmp_path))
    held, printed = lock(tmp_path, "https://chat.example.org"), StringIO()
    call_command("signin_link", stdout=printed)
    os.close(held)
    assert printed.getvalue().startswith("https://chat.example.org/signin/")


def test_the_command_on_an_empty_data_folder_says_what_to_do(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "signin_link"],
        check=False,
        cwd=settings.BASE_DIR,
        env=os.environ | {"SIGHTGLASS_DATA": str(tmp_path), "SIGHTGLASS_DATABASE_URL": ""},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert str(tmp_path) in line and "make up" in line


def test_a_nul_is_located_since_nobody_sees_it(alice: Client, conversation: str) -> None:
    path = f"/api/conversations/{conversation}/messages"
    _, message = post(alice, path, {"text": "ab\x00"})
    assert "as character 3;" in message["error"]["message"]
    _, setting = post(alice, path, {"text": "a", "params": {"stop": ["a", "b\x00"]}})
    assert "as character 2;" in setting["error"]["message"]


def test_pages_carry_a_strict_policy(alice: Client) -> None:
    policy = alice.get("/healthz").headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy and "unsafe-eval" not in policy


def test_models_text_follows_the_request(alice: Client, conversation: str) -> None:
    send(alice, conversation)
    Request.objects.update(output_text="Hi!", status="done", finished_at=timezone.now())
    assert [message.text for message in Message.objects.order_by("created_at")] == ["Hello", "Hi!"]
    assert Conversation.objects.get().title == "Hello"


def settle_all() -> None:
    for pk in Request.objects.filter(finished_at=None).values_list("pk", flat=True):
        settle(pk)


def test_each_request_is_listed_by_its_own_question(alice: Client, conversation: str) -> None:
    _, first = send(alice, conversation, "What is\n glass?")
    settle_all()
    send(alice, conversation, "And sand?", parent_id=first["assistant_message"]["id"])
    titles = [trace["title"] for trace in alice.get("/api/requests").json()["requests"]]
    assert titles == ["And sand?", "What is glass?"]


def test_a_request_that_no_worker_takes_fails_after_its_time(alice: Client, conversation: str) -> None:
    _, body = send(alice, conversation)
    request = Request.objects.get(pk=body["assistant_message"]["request_id"])
    attend_after(QUEUE_S - 1, request)
    assert not request.is_settled
    attend_after(QUEUE_S, request)
    shown = alice.get(f"/api/requests/{request.pk}").json()
    assert (shown["status"], shown["error"]["code"]) == ("failed", "no_worker")
    assert "Start one" in shown["error"]["message"]


def test_a_request_that_is_being_written_is_no_longer_queued(alice: Client, conversation: str) -> None:
    _, body = send(alice, conversation)
    request_id = body["assistant_message"]["request_id"]

    def found(status: str) -> list[str]:
        return [trace["status"] for trace in alice.get("/api/requests", {"status": status}).json()["requests"]]

    assert (found("queued"), found("running")) == (["queued"], [])
    services.event_log().append(request_id, [STARTED], 1)
    assert (found("queued"), found("running")) == ([], ["running"])
    assert alice.get(f"/api/requests/{request_id}").json()["status"] == "running"
    assert alice.get("/api/requests/choices").json()["choices"]["status"] == ["running"]


def test_a_request_whose_worker_falls_silent_is_taken_from_it(alice: Client, conversation: str) -> None:
    from inference.eventlog.event_log import Fenced

    _, body = send(alice, conversation)
    request = Request.objects.get(pk=body["assistant_message"]["request_id"])
    services.event_log().append(request.pk, [STARTED], 1)
    attend_after(STALL_S - 1, request)
    assert not request.is_settled
    attend_after(STALL_S, request)
    assert alice.get(f"/api/requests/{request.pk}").json()["error"]["code"] == "worker_lost"
    with pytest.raises(Fenced):
        services.event_log().append(request.pk, [STARTED], 1)


def test_a_request_whose_worker_is_busy_for_long_is_left_to_it(
    alice: Client, conversation: str, redis_client: redis.Redis
) -> None:
    """A step may take longer than the limit of silence. An engine that hangs for ever ends all the same."""
    _, body = send(alice, conversation)
    request = Request.objects.get(pk=body["assistant_message"]["request_id"])
    services.event_log().append(request.pk, [STARTED], 1)
    redis_client.hset(worker_key(STARTED.worker), "state", "ready")
    attend_after(9 * STALL_S, request)
    assert not request.is_settled
    attend_after(10 * STALL_S, request)
    assert request.error_code == "worker_lost"


def test_silence_is_measured_from_the_last_event(alice: Client, conversation: str) -> None:
    _, body = send(alice, conversation)
    request = Request.objects.get(pk=body["assistant_message"]["request_id"])
    clock = StillClock()
    watch = Watch(clock)
    for clock.now in (0.0, 0.9 * STALL_S, 1.8 * STALL_S, 2.7 * STALL_S):
        services.event_log().append(request.pk, [STARTED], 1)
        watch.attend(request)
    request.refresh_from_db()
    assert not request.is_settled


def test_a_machine_whose_clock_is_wrong_fails_no_request(alice: Client, conversation: str) -> None:
    _, body = send(alice, conversation)
    Request.objects.update(accepted_unix_us=0)
    request = Request.objects.get(pk=body["assistant_message"]["request_id"])
    attend_after(QUEUE_S - 1, request)
    assert not request.is_settled


def test_reading_a_conversation_does_not_read_what_each_request_repeats(
    alice: Client, conversation: str, django_assert_max_num_queries: Any
) -> None:
    parent = None
    for number in range(5):
        Request.objects.update(status="done", finished_at=timezone.now())
        _, body = send(alice, conversation, f"Question {number}", parent_id=parent)
        parent = body["assistant_message"]["id"]
    Request.objects.update(finished_at=None)  # without a trace, only what is open is listed
    with django_assert_max_num_queries(14) as queries:
        assert len(alice.get(f"/api/conversations/{conversation}").json()["messages"]) == 10
        assert len(alice.get("/api/requests").json()["requests"]) == 5
    assert not any('"input"' in query["sql"] for query in queries)


def request_of(sent: dict[str, Any]) -> Request:
    return Request.objects.get(pk=sent["assistant_message"]["request_id"])


def events_of(request: Request) -> list[Any]:
    return [event for frame in services.event_log().read(request.pk) for event in frame.events]


def test_a_question_that_was_refused_never_comes_back_with_a_later_one(alice: Client, conversation: str) -> None:
    _, refused = send(alice, conversation, "Something refused.")
    settle(request_of(refused).pk, Failure("safety", "blocked", "No."))
    _, later = send(alice, conversation, "Please answer.", parent_id=refused["assistant_message"]["id"])
    assert [message.content for message in request_of(later).input.messages] == ["Please answer."]


def test_stop_before_any_worker_ends_the_request_at_once_and_for_good(alice: Client, conversation: str) -> None:
    _, sent = send(alice, conversation)
    request = request_of(sent)
    for _ in range(3):
        assert alice.post(f"/api/requests/{request.pk}/cancel").status_code == 202
    assert alice.get(f"/api/requests/{request.pk}").json()["status"] == "stopped"
    types = [type(event).__name__ for event in events_of(request)]
    assert types.count("RequestCancelled") == types.count("RequestFailed") == 1
    assert types[-1] == "RequestFailed"


def test_deleting_a_conversation_stops_what_runs_in_it(alice: Client, conversation: str) -> None:
    _, sent = send(alice, conversation)
    assert alice.delete(f"/api/conversations/{conversation}").status_code == 204
    assert request_of(sent).status == "stopped"


def test_a_change_of_settings_leaves_the_shown_branch_alone(alice: Client, conversation: str) -> None:
    stale = Conversation.objects.get(pk=conversation)
    _, sent = send(alice, conversation)
    change(stale, ConversationChange(system_prompt="Be brief."))
    kept = Conversation.objects.get(pk=conversation)
    assert (kept.leaf_id, kept.system_prompt) == (sent["assistant_message"]["id"], "Be brief.")


def test_a_request_that_cannot_be_looked_at_hides_no_other(alice: Client, conversation: str) -> None:
    _, first = send(alice, conversation)
    _, second = send(alice, conversation)
    redis_key = log_key(request_of(first).pk)
    with closing(redis.from_url(settings.ENVIRONMENT.redis_url)) as client:
        client.xadd(redis_key, {"seq": 3, "events": b"no json"}, id="99-0")
    attend_after(QUEUE_S)
    assert request_of(second).status == "failed"
    assert request_of(first).status == "queued"


def test_an_answer_outlives_its_deleted_trace(alice: Client, conversation: str) -> None:
    request_id = send(alice, conversation)[1]["assistant_message"]["request_id"]
    settle(request_id)
    Request.objects.filter(pk=request_id).update(output_text="An answer")
    assert alice.delete(f"/api/requests/{request_id}").status_code == 204
    assert alice.get("/api/requests").json()["requests"] == []
    assert alice.get(f"/api/requests/{request_id}/export").status_code == 404
    messages = alice.get(f"/api/conversations/{conversation}").json()["messages"]
    assert messages[-1]["text"] == "An answer"
    row = Request.objects.get(pk=request_id)
    assert messages[-1]["figures"] == {
        "usage": row.usage,
        "cost_nano": row.cost_nano,
        "currency": row.currency,
        "finish_reason": row.finish_reason or None,
        "first_text_us": row.first_text_us,
        "max_tokens": row.params["max_tokens"],
    }


def test_pages_of_what_belongs_to_somebody_else_are_not_found(alice: Client, bob: Client, conversation: str) -> None:
    _, sent = send(alice, conversation)
    paths = [f"/c/{conversation}", f"/requests/{request_of(sent).pk}"]
    own, foreign = ([client.get(path).status_code for path in paths] for client in (alice, bob))
    built = 503 not in own  # without a built page there is one answer for all
    assert (own, foreign) == (([200, 200], [404, 404]) if built else ([503, 503], [503, 503]))


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (b'{"text": " \\n\\t\\u00a0\\u200b\\u2060"}', "empty", "empty"),
        (b'{"text": "a\\ud800b"}', "invalid_json", "surrogate"),
        (b'{"text": "a", "params": {"stop": [""]}}', "invalid", "stop must have texts"),
    ],
)
def test_what_is_wrong_with_a_message_is_named(
    alice: Client, conversation: str, body: bytes, code: str, words: str
) -> None:
    path = f"/api/conversations/{conversation}/messages"
    answer = alice.post(path, data=body, content_type="application/json")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, code)
    assert words in error["message"]
    assert error.get("field") in {None, "text", "params.stop"}


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({"text": 1}, "text", "text must be a text, not a whole number."),
        ({}, "text", "text is missing."),
        ([], None, "The body must be an object, not a list."),
        ({"text": "a", "n": "3"}, "n", "n must be a whole number or null, not a text."),
        ({"text": "a", "params": {"top_k": 1.5}}, "params.top_k", "top_k must be a whole number, not a fraction."),
        ({"text": "a", "params": {"bad": 1}}, "params.bad", "There is no field params.bad. Remove it"),
        (
            {"text": "a", "params": {"json_schema": {}}},
            "params.json_schema",
            "json_schema must be a text or null, not an object. Send the schema as JSON within a text.",
        ),
        (
            {"text": "a", "params": {"logit_bias": {"28": 5}}},
            "params.logit_bias",
            'logit_bias must be a list, not an object. Its entries look like {"id": 28, "bias": -5}.',
        ),
        ({"text": "a", "params": {"logit_bias": [{"id": 1}]}}, "params.logit_bias[0].bias", "bias is missing."),
        (
            {"text": "a", "params": {"banned_token_ids": ["hello"]}},
            "params.banned_token_ids[0]",
            "banned_token_ids[0] must be a whole number, not a text. It holds ids of tokens",
        ),
    ],
)
def test_a_body_of_another_form_is_told_in_words(
    alice: Client, conversation: str, body: object, field: str | None, message: str
) -> None:
    status, answer = post(alice, f"/api/conversations/{conversation}/messages", body)
    assert (status, answer["error"]["code"], answer["error"].get("field")) == (400, "invalid", field)
    assert message in answer["error"]["message"]


def test_checks_of_settings_have_a_limit_of_their_own_for_each_user(
    alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "time", SimpleNamespace(time=lambda: 1e9))  # all within one window
    answers = [post(alice, "/api/conversations/check", {}) for _ in range(42)]
    assert [status for status, _ in answers] == [200] * 40 + [429] * 2
    (refusal,) = {answer["error"]["message"] for status, answer in answers if status == 429}
    assert "Wait a moment" in refusal
    assert post(sign_in("bob"), "/api/conversations/check", {})[0] == 200


def test_what_is_no_json_is_told_what_to_send(alice: Client, conversation: str) -> None:
    path = f"/api/conversations/{conversation}/messages"
    error = alice.post(path, data=b"text=a", content_type="application/json").json()["error"]
    assert error["code"] == "invalid_json" and error["message"].endswith("Send an object in braces.")


@pytest.mark.parametrize(
    ("params", "field", "words"),
    [
        ({"typical_p": 0}, "typical_p", "greater than 0"),
        ({"json_schema": "{}", "regex": "a"}, "json_schema", "choose one"),
        ({"json_schema": "{"}, "json_schema", "must be a JSON object"),
        ({"json_schema": '{"type": "array", "uniqueItems": true}'}, "json_schema", "uniqueItems"),
        ({"json_schema": '{"title": "\x00"}'}, "json_schema", ""),
        ({"json_schema": " " * 70_000}, "json_schema", "at most"),
        ({"regex": "(?=a)b"}, "regex", "look-around"),
        ({"regex": "a\x00"}, "regex", "NUL"),
        ({"stop": ["a\x00"]}, "stop", "NUL"),
        ({"banned_token_ids": [49152]}, "banned_token_ids", "from 0 to 49151"),
        ({"stop_token_ids": [-1]}, "stop_token_ids", "from 0 to 49151"),
        ({"logit_bias": [{"id": 10**9, "bias": 1}]}, "logit_bias", "from 0 to 49151"),
        ({"logit_bias": [{"id": 1, "bias": 101}]}, "logit_bias", "from -100 to 100"),
        ({"logit_bias": [{"id": 1, "bias": 1}, {"id": 1, "bias": 2}]}, "logit_bias", "twice"),
    ],
)
def test_settings_that_cannot_be_kept_to_are_refused_before_anything_is_queued(
    alice: Client, conversation: str, params: dict[str, object], field: str, words: str
) -> None:
    status, answer = send(alice, conversation, params=params)
    assert (status, answer["error"]["code"]) == (400, "invalid")
    assert answer["error"]["field"] == f"params.{field}"
    assert words in answer["error"]["message"]
    assert not Request.objects.exists()
    assert post(alice, "/api/conversations/check", {"params": params}) == (400, answer)


def test_a_conversation_begins_as_the_model_s_entry_says(alice: Client) -> None:
    (model,) = alice.get("/api/session").json()["models"]
    assert model["num_params"] == 134_515_008
    _, begun = post(alice, "/api/conversations", {})
    assert begun["params"] == model["default_params"]
    assert begun["params"] != json.loads(msgspec.json.encode(SamplingParams()))
    assert begun["system_prompt"] == model["default_system_prompt"] != ""
    _, own = post(alice, "/api/conversations", {"params": {"temperature": 1}, "system_prompt": ""})
    assert own["params"] == json.loads(msgspec.json.encode(SamplingParams(temperature=1)))
    assert own["system_prompt"] == ""


def test_settings_are_checked_without_keeping_anything(alice: Client) -> None:
    schema = '{"type": "object", "properties": {"city": {"type": "string"}}}'
    good = {"system_prompt": "In rhyme.", "params": {"json_schema": schema, "temperature": 0}, "n": 8}
    assert post(alice, "/api/conversations/check", good) == (200, {"notes": []})
    for bad, field in (({"n": 9}, "n"), ({"system_prompt": "x" * 300_000}, "system_prompt")):
        status, answer = post(alice, "/api/conversations/check", good | bad)
        assert (status // 100, answer["error"]["field"]) == (4, field)
    assert "system prompt has 300,000 bytes" in answer["error"]["message"]
    assert not Conversation.objects.exists()


def test_all_that_is_wrong_with_the_settings_is_told_at_once(alice: Client, conversation: str) -> None:
    params = {"temperature": 9, "top_p": 0, "regex": "(?=a)", "banned_token_ids": [-1], "stop": ["a\x00"]}
    fields = [f"params.{field}" for field in ("temperature", "top_p", "banned_token_ids", "stop", "regex")]
    status, answer = post(alice, "/api/conversations/check", {"params": params, "n": 9, "system_prompt": "\x00"})
    error = answer["error"]
    assert status == 400
    assert [each["field"] for each in error["problems"]] == ["system_prompt", *fields, "n"]
    assert {"message": error["message"], "field": error["field"]} == error["problems"][0]
    status, answer = send(alice, conversation, params=params)
    assert (status, [each["field"] for each in answer["error"]["problems"]]) == (400, fields)
    _, answer = send(alice, conversation, params={"temperature": 9})
    assert "problems" not in answer["error"]


@pytest.mark.parametrize(("max_tokens", "num_notes"), [(8191, 0), (8192, 1), (1_000_000, 1)])
def test_more_than_the_window_holds_is_said_and_not_refused(alice: Client, max_tokens: int, num_notes: int) -> None:
    status, answer = post(alice, "/api/conversations/check", {"params": {"max_tokens": max_tokens}})
    assert status == 200
    assert [each["field"] for each in answer["notes"]] == ["params.max_tokens"] * num_notes
    assert all("8,192" in each["message"] for each in answer["notes"])


@pytest.mark.parametrize("num_more_ids", [-2, 64])
def test_ids_that_tokenizer_or_model_do_not_know_are_refused(
    alice: Client,
    conversation: str,
    metadata: Metadata,
    tmp_path: Path,
    num_more_ids: int,
) -> None:
    path = write_byte_level(tmp_path / "model.gguf", metadata, "qwen2", num_more_ids)
    RegisteredModel.objects.update(path=str(path))
    last = 49151 + min(0, num_more_ids)
    status, answer = send(alice, conversation, params={"logit_bias": [{"id": last + 1, "bias": 1}]})
    assert (status, answer["error"]["field"]) == (400, "params.logit_bias")
    assert f"from 0 to {last}" in answer["error"]["message"]
    assert send(alice, conversation, params={"logit_bias": [{"id": last, "bias": 1}]})[0] == 201


def test_a_conversation_keeps_its_schema(alice: Client, conversation: str) -> None:
    params = {"json_schema": '{"type": "object"}', "logit_bias": [{"id": 5, "bias": -1.5}], "banned_token_ids": [7]}
    changed = alice.patch(f"/api/conversations/{conversation}", {"params": params}, content_type="application/json")
    assert changed.status_code == 200
    send(alice, conversation)
    kept = Request.objects.get().params
    assert {name: kept[name] for name in params} == params
