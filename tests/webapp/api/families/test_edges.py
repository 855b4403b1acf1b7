"""The edges of both families' APIs: what no model takes, what is switched off, and what would take too much."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from tests.inference.models.tiny_gguf import write_tiny
from tests.webapp.api.families.calls import BEGINNING, BODIES, COUNTS, SAID, call, key_of
from tests.webapp.registered import CONFIGURED, beat, registered
from webapp.api.families.waiting import refusal_of_failure
from webapp.api.openai.responses import history
from webapp.ground.gateway.errors import ApiError
from webapp.identity.keys.keys import KeyInvalid
from webapp.lifecycle.tasks import prepare
from webapp.models.registry import offered
from webapp.models.registry.models import RegisteredModel
from webapp.models.registry.offered import EMBEDDING_MODEL
from webapp.requests.models import Request
from webapp.surfaces.calls import counting, embeddings
from webapp.surfaces.calls.counting import Counting
from webapp.surfaces.calls.stored import store
from webapp.usage.limits.rules import change

pytestmark = pytest.mark.django_db(transaction=True)
STRICT = (
    "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no system prompt') }}{% endif %}"
    "{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "
)
SYSTEM = {
    "/v1/chat/completions": {"messages": [{"role": "system", "content": "Be brief."}, *SAID]},
    "/v1/responses": {"instructions": "Be brief."},
    "/v1/responses/input_tokens": {"instructions": "Be brief."},
    "/v1/messages": {"system": "Be brief."},
    "/v1/messages/count_tokens": {"system": "Be brief."},
}


@pytest.fixture
def key(redis_client: redis.Redis) -> str:
    beat(redis_client, "test:1", CONFIGURED)
    return key_of()


@pytest.fixture
def strict(tmp_path: Path, redis_client: redis.Redis) -> str:
    """A model whose template refuses a system prompt."""
    beat(redis_client, "test:2", "strict")
    return registered("strict", write_tiny(tmp_path / "strict.gguf", chat_template=STRICT)).pk


@pytest.mark.parametrize("path", COUNTS)
def test_a_count_of_messages_that_the_template_refuses_is_a_400(key: str, strict: str, path: str) -> None:
    assert call(path, BODIES[path] | {"model": strict}, key).status == 200
    answer = call(path, BODIES[path] | {"model": strict} | SYSTEM[path], key)
    assert answer.status == 400
    assert "no system prompt" in answer.error["message"]


def test_a_request_with_messages_that_the_template_refuses_fails_as_a_400(key: str, strict: str) -> None:
    path = "/v1/responses"
    assert call(path, BODIES[path] | {"model": strict, "background": True} | SYSTEM[path], key).status == 200
    request = Request.objects.get()
    prepare(request.pk)
    request.refresh_from_db()
    assert request.error_code == "messages_refused" and "no system prompt" in request.error_message
    assert refusal_of_failure(request.error_code, request.error_message).status == 400


def test_a_template_that_leaves_a_message_out_refuses_it(key: str, tmp_path: Path) -> None:
    forgetful = "{{ messages[-1]['content'] }}"
    model = registered("forgetful", write_tiny(tmp_path / "a.gguf", chat_template=forgetful)).pk
    answer = call(COUNTS[0], BODIES[COUNTS[0]] | {"model": model, "system": "Be brief."}, key)
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize("path", [*BEGINNING, *COUNTS])
def test_a_model_that_is_switched_off_is_not_found(key: str, path: str) -> None:
    registered("twin")
    RegisteredModel.objects.filter(pk="twin").update(state="drained")
    answer = call(path, BODIES[path] | {"model": "twin"}, key)
    assert answer.status == 404


@pytest.mark.parametrize("path", BEGINNING)
def test_a_model_that_is_switched_off_meanwhile_is_not_found_either(
    key: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client repeats a 409 and would get the next one."""

    def switch_off(model: str) -> None:
        raise offered.NotOffered(model)

    monkeypatch.setattr("webapp.lifecycle.begin.check_offered", switch_off)
    answer = call(path, BODIES[path], key)
    kind = answer.error["type"] if path == "/v1/messages" else answer.error["code"]
    assert (answer.status, kind) == (404, "not_found_error" if path == "/v1/messages" else "model_not_found")
    assert "no longer offered" in answer.error["message"]


@pytest.mark.parametrize(
    ("path", "allowed"),
    [*((path, "POST") for path in BODIES), ("/v1/models", "GET"), ("/v1/responses/resp_1", "GET, DELETE")],
)
def test_another_method_is_told_which_are_allowed(key: str, path: str, allowed: str) -> None:
    response = Client(headers={"x-api-key": key}).put(path)
    assert (response.status_code, response["Allow"]) == (405, allowed)


@pytest.mark.parametrize("path", COUNTS)
def test_a_count_takes_a_request_from_the_rate(key: str, path: str) -> None:
    change(User.objects.get(username="alice"), requests_per_minute=1)
    assert call(path, BODIES[path], key).status == 200
    answer = call(path, BODIES[path], key)
    assert answer.status == 429 and int(answer.headers["Retry-After"]) > 0
    assert not Request.objects.exists()


def test_the_counts_of_one_user_have_room_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_OF_ONE", 100)
    found = Counting()
    with found.room(1, 60), found.room(2, 60):
        with pytest.raises(ApiError) as refused, found.room(1, 60):
            pass
        assert (refused.value.status, refused.value.retry_after_s) == (429, 1)
    with found.room(1, 60):
        pass


@pytest.mark.parametrize("path", COUNTS)
def test_a_count_that_finds_no_room_is_a_429(key: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_OF_ONE", 1)
    assert call(path, BODIES[path], key).status == 429


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/responses/input_tokens"])
def test_the_conversation_before_a_response_is_bounded_in_bytes(
    key: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = User.objects.get(username="alice")
    ended: dict[str, Any] = {"status": "done", "output_text": "ok", "finished_at": "2026-01-01T00:00:00Z"}
    request = Request.objects.create(user=alice, surface="openai", model=CONFIGURED, **ended)
    store(request, {"model": CONFIGURED, "input": "Hi " * 100})
    body = BODIES[path] | {"previous_response_id": request.pk.replace("req_", "resp_")}
    assert call(COUNTS[1], body, key).status == 200
    monkeypatch.setattr(history, "MOST_BYTES_BEFORE", 300)
    answer = call(path, body, key)
    assert (answer.status, answer.error["param"]) == (400, "previous_response_id")


@pytest.mark.parametrize("num", [1, 20])
def test_texts_that_are_too_long_are_refused_before_they_are_tokenized(
    key: str, num: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "MAX_CHARS", 20_000)
    monkeypatch.setattr("inference.safety.minilm.MiniLM.ids", None)
    text = "word " * (100_000 if num == 1 else 300)
    answer = call("/v1/embeddings", {"model": EMBEDDING_MODEL, "input": [text] * num}, key)
    assert (answer.status, answer.error["param"]) == (400, "input[0]" if num == 1 else "input")
    assert "characters" in answer.error["message"]


def test_a_key_may_be_limited_to_the_embedding_model(key: str) -> None:
    limited = key_of(models=[EMBEDDING_MODEL])
    assert call("/v1/embeddings", BODIES["/v1/embeddings"], limited).status == 200
    assert call("/v1/messages/count_tokens", BODIES["/v1/messages/count_tokens"], limited).status == 403
    with pytest.raises(KeyInvalid):
        key_of(models=["nope"])


def test_notes_that_a_client_hangs_on_an_answer_are_left_alone(key: str) -> None:
    """LiteLLM sends them back."""
    function = {"name": "clock", "arguments": "{}", "note": 1}
    called = {"id": "a", "type": "function", "function": function, "provider_specific_fields": None}
    answer = {"role": "assistant", "content": None, "tool_calls": [called], "provider_specific_fields": {"a": 1}}
    messages = [*SAID, answer, {"role": "tool", "tool_call_id": "a", "content": "Noon."}]
    assert (
        call("/v1/chat/completions", BODIES["/v1/chat/completions"] | {"messages": messages, "n": 99}, key).error[
            "param"
        ]
        == "n"
    )
    wrong = {"messages": [{"role": "user", "content": "Hi", "note": 1}]}
    assert call("/v1/chat/completions", BODIES["/v1/chat/completions"] | wrong, key).status == 400
