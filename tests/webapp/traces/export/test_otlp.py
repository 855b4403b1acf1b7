"""Sending to an OTLP endpoint: a real HTTP receiver decodes the body with OpenTelemetry's own messages."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
import redis
from celery.exceptions import Retry
from django.conf import settings
from django.contrib.auth.models import User
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from inference.protocol.events import Frame, RequestAccepted
from inference.protocol.request import SamplingParams
from tests.webapp.traces.export.test_exports import FRAMES, import_, signed_in
from tests.webapp.traces.library.test_filters import saved
from webapp import environment
from webapp.environment import OtlpEndpoint
from webapp.requests.models import Request
from webapp.traces.export import tasks
from webapp.traces.export.otlp import OtlpError, Unavailable, spans_of
from webapp.traces.export.otlp import send as send_spans
from webapp.traces.export.sender import QUEUE
from webapp.traces.file.jsonfile import encode_json
from webapp.traces.models import Trace

LOGS = Path(__file__).parents[3] / "golden" / "logs"
QUESTION = "What is the capital of France?"


def send(endpoint: OtlpEndpoint, frames: list[Frame], timeout_s: float, conversation: str | None = None) -> int:
    made = spans_of(endpoint, frames, conversation)
    asyncio.run(send_spans(endpoint, made, timeout_s))
    return made.num


class Receiver(ThreadingHTTPServer):
    """Keeps what is posted, and answers as it was told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.taken: list[tuple[str, dict[str, str], ExportTraceServiceRequest]] = []
        self.answers: list[tuple[int, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/traces"


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.taken.append((self.path, dict(self.headers), ExportTraceServiceRequest.FromString(body)))
        status, headers, answer = self.server.answers.pop(0) if self.server.answers else (200, {}, b"")
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(answer))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def endpoint(receiver: Receiver, has_texts: bool = False) -> OtlpEndpoint:
    return OtlpEndpoint(receiver.url, {"Authorization": "Bearer k"}, has_texts)


def recorded(name: str) -> list[Frame]:
    return msgspec.convert(json.loads((LOGS / f"{name}.json").read_text("utf-8"))["frames"], list[Frame])


def spans(message: ExportTraceServiceRequest) -> list[Any]:
    return [span for resource in message.resource_spans for scope in resource.scope_spans for span in scope.spans]


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: each.value for each in span.attributes}


def test_the_spans_arrive_whole_and_without_a_word_of_what_was_said(receiver: Receiver) -> None:
    num_spans = send(endpoint(receiver), recorded("finished"), 5)
    ((path, headers, message),) = receiver.taken
    assert (path, headers["Content-Type"], headers["Authorization"]) == (
        "/v1/traces",
        "application/x-protobuf",
        "Bearer k",
    )
    found = spans(message)
    assert len(found) == num_spans > 5
    root, *below = found
    assert {len(span.trace_id) for span in found} == {16}
    assert len({span.span_id for span in found}) == len(found)
    assert {span.parent_span_id for span in below} == {root.span_id}
    assert all(root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano for span in found[1:3])
    told = attributes(root)
    assert told["gen_ai.operation.name"].string_value == "chat"
    assert told["gen_ai.usage.output_tokens"].int_value > 0
    assert "France" not in str(message)
    assert not {"gen_ai.input.messages", "gen_ai.output.messages"} & told.keys()


def test_an_agents_spans_stand_below_those_of_the_request_that_started_it(receiver: Receiver) -> None:
    frames = recorded("finished")
    first, *rest = frames[0].events
    assert isinstance(first, RequestAccepted)
    agent = msgspec.structs.replace(first, request_id="req_agent", agent_of=first.request_id)
    send(endpoint(receiver), frames, 5)
    send(endpoint(receiver), [Frame(seq=1, events=(agent, *rest)), *frames[1:]], 5)
    (root, *_), (below, *_) = (spans(message) for _, _, message in receiver.taken)
    assert below.trace_id == root.trace_id and below.parent_span_id == root.span_id
    assert below.span_id != root.span_id and not root.parent_span_id


def test_texts_go_along_where_the_operator_says_so(receiver: Receiver) -> None:
    send(endpoint(receiver, has_texts=True), recorded("finished"), 5)
    told = attributes(spans(receiver.taken[0][2])[0])
    *_, question = json.loads(told["gen_ai.input.messages"].string_value)
    assert question["role"] == "user"
    assert QUESTION in question["parts"][0]["content"]
    (answer,) = json.loads(told["gen_ai.output.messages"].string_value)
    assert (answer["role"], answer["finish_reason"]) == ("assistant", "stop")
    assert "Paris" in answer["parts"][0]["content"]


@pytest.mark.parametrize("name", ["finished", "stopped", "blocked", "lost", "remote"])
def test_every_kind_of_end_is_a_valid_message(receiver: Receiver, name: str) -> None:
    assert send(endpoint(receiver, has_texts=True), recorded(name), 5) == len(spans(receiver.taken[0][2]))


def test_what_the_endpoint_refuses_is_told_apart_from_what_it_may_take_later(receiver: Receiver) -> None:
    partial = ExportTraceServiceResponse(partial_success=ExportTracePartialSuccess(rejected_spans=2, error_message="m"))
    receiver.answers = [(503, {"Retry-After": "7"}, b"busy"), (401, {}, b"no"), (200, {}, partial.SerializeToString())]
    with pytest.raises(Unavailable, match="busy") as later:
        send(endpoint(receiver), FRAMES, 5)
    assert later.value.retry_after_s == 7
    for said in ("401", "rejected 2 spans: m"):
        with pytest.raises(OtlpError, match=said) as refused:
            send(endpoint(receiver), FRAMES, 5)
        assert not isinstance(refused.value, Unavailable)
    receiver.answers = [(307, {"Location": "http://127.0.0.1:1/"}, b"")]
    with pytest.raises(OtlpError, match="307"):
        send(endpoint(receiver), FRAMES, 5)
    receiver.answers = [(200, {}, b"\xff fine")]
    assert send(endpoint(receiver), FRAMES, 5) > 0
    with pytest.raises(Unavailable, match="cannot be reached"):
        send(OtlpEndpoint("http://127.0.0.1:1/v1/traces", {}, False), FRAMES, 5)


@pytest.fixture
def configured(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Receiver:
    changed = vars(settings.ENVIRONMENT) | {"otlp": endpoint(receiver)}
    monkeypatch.setattr(settings, "ENVIRONMENT", type(settings.ENVIRONMENT)(**changed))
    return receiver


@pytest.mark.django_db(transaction=True)  # a task looks after its connections
def test_a_settled_request_is_queued_and_sent_and_tried_again(
    configured: Receiver, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = signed_in("alice")
    request = Request.objects.get(pk=import_(alice, encode_json(FRAMES, {})).json()["requests"][0]["id"])
    tasks.on_settled(request)
    assert redis_client.llen(QUEUE) == 1
    assert not configured.taken
    tasks.send_trace(request.pk)
    assert len(configured.taken) == 1
    configured.answers = [(503, {}, b""), (400, {}, b"no")]
    with pytest.raises(Retry):
        tasks.send_trace.apply(args=[request.pk], throw=True, retries=0)
    tasks.send_trace(request.pk)
    assert "was not sent" in caplog.text
    tasks.send_trace("req_deleted_meanwhile")
    assert len(configured.taken) == 3
    monkeypatch.setattr(tasks, "MAX_WAITING", 1)
    tasks.on_settled(request)
    assert "wait already" in caplog.text


@pytest.mark.django_db
def test_one_trace_is_sent_by_hand_by_its_owner_alone(configured: Receiver) -> None:
    alice, bob = signed_in("alice"), signed_in("bob")
    path = f"/api/requests/{import_(alice, encode_json(FRAMES, {})).json()['requests'][0]['id']}/otlp"
    assert (alice.post(path).status_code, alice.post(path).json()["error"]["code"]) == (409, "imported")
    assert not configured.taken
    Request.objects.update(is_imported=False)
    assert bob.post(path).status_code == 404
    assert alice.post(path).json()["num_spans"] == len(spans(configured.taken[0][2]))
    configured.answers = [(403, {}, b"who are you")]
    answer = alice.post(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "otlp_failed")
    assert answer.json()["error"]["message"] == "The OTLP endpoint answered 403."


@pytest.mark.django_db(transaction=True)
def test_a_damaged_trace_is_not_sent_and_said_to_be(configured: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    request_id = import_(signed_in("alice"), encode_json(FRAMES, {})).json()["requests"][0]["id"]
    Trace.objects.update(blob=b"damaged")
    tasks.send_trace(request_id)
    assert f"{request_id} was not sent" in caplog.text
    assert not configured.taken


def test_the_endpoint_s_password_is_not_logged(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    url = receiver.url.replace("http://", "http://me:hunter2@")
    assert send(OtlpEndpoint(url, {}, False), FRAMES, 5) > 0
    assert "hunter2" not in caplog.text


def test_settings_that_quote_go_along_only_with_texts(receiver: Receiver) -> None:
    first = FRAMES[0].events[0]
    assert isinstance(first, RequestAccepted)
    accepted = msgspec.structs.replace(first, params=SamplingParams(seed=7, stop=("my secret",)))
    frames = [Frame(seq=1, events=(accepted,)), *FRAMES[1:]]
    told = []
    for has_texts in (False, True):
        send(endpoint(receiver, has_texts), frames, 5)
        told.append(attributes(spans(receiver.taken[-1][2])[0]))
    names = {"gen_ai.request.seed", "gen_ai.request.stop_sequences"}
    assert [names & each.keys() for each in told] == [set(), names]
    assert told[1]["gen_ai.request.seed"].int_value == 7


@pytest.mark.django_db
def test_without_an_endpoint_there_is_nowhere_to_send_to() -> None:
    user = User.objects.create_user("alice")
    assert settings.ENVIRONMENT.otlp is None
    client = signed_in("bob")
    assert client.post(f"/api/requests/{saved(user)}/otlp").status_code == 404
    own = saved(User.objects.get(username="bob"))
    assert client.post(f"/api/requests/{own}/otlp").json()["error"]["code"] == "not_configured"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://collector:4318", "http://collector:4318/v1/traces"),
        ("https://host/otel/", "https://host/otel/v1/traces"),
        ("https://host/v1/traces", "https://host/v1/traces"),
    ],
)
def test_the_endpoint_is_given_as_to_opentelemetry_s_own_exporters(
    given: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTGLASS_OTLP_ENDPOINT", given)
    monkeypatch.setenv("SIGHTGLASS_OTLP_HEADERS", "Authorization=Basic%20YTpi, x-tenant = a")
    found = environment.read_environment().otlp
    assert found == OtlpEndpoint(url, {"Authorization": "Basic YTpi", "x-tenant": "a"}, False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ENDPOINT", "collector:4318"),
        ("ENDPOINT", "ftp://host"),
        ("ENDPOINT", "http://host:port"),
        ("HEADERS", "secret"),
        ("HEADERS", "a b=c"),
        ("HEADERS", "a=%0a"),
        ("TEXTS", "yes"),
    ],
)
def test_a_setting_that_cannot_be_used_ends_the_start_with_one_line(
    name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTGLASS_OTLP_ENDPOINT", "http://host")
    monkeypatch.setenv(f"SIGHTGLASS_OTLP_{name}", text)
    with pytest.raises(SystemExit, match=f"SIGHTGLASS_OTLP_{name}"):
        environment.read_environment()


def test_the_spans_have_the_conventions_first_chunk_conversation_and_cache(receiver: Receiver) -> None:
    send(endpoint(receiver), recorded("finished"), 5, "conv_1")
    told = attributes(spans(receiver.taken[0][2])[0])
    assert told["gen_ai.conversation.id"].string_value == "conv_1"
    assert told["gen_ai.request.stream"].bool_value
    first_text_us = told["sightglass.time_to_first_text_us"].int_value
    assert told["gen_ai.response.time_to_first_chunk"].double_value == first_text_us / 10**6 > 0
    assert {"gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_write.input_tokens"} <= told.keys()
    send(endpoint(receiver), recorded("finished"), 5)
    assert "gen_ai.conversation.id" not in attributes(spans(receiver.taken[1][2])[0])
