"""The registry over HTTP: what operators may do to a model in each state, and what is refused with advice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import redis
from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from inference.eventlog.keys import DRAINED_WORKERS
from inference.tokenization.bundled import bundled_model
from inference.tokenization.gguf_metadata import Metadata
from inference.tokenization.tokenizer import Tokenizer
from tests.inference.tokenization.test_vocabularies import folder
from tests.webapp.at_once import called_during, on_postgres
from tests.webapp.registered import CONFIGURED, beat, operator, registered
from webapp.models.registry.models import RegisteredModel
from webapp.requests.models import Request
from webapp.surfaces.chat.models import Conversation

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "sk-a-key-that-nothing-tells"
REMOTE = {"kind": "remote", "path": str(bundled_model()), "url": "http://gpu:8000"}


@pytest.fixture
def olive(redis_client: redis.Redis) -> Client:
    return operator()


def post(client: Client, status: int = 201, **body: Any) -> dict[str, Any]:
    answer = client.post("/api/registry", {"id": "second", "kind": "gguf", "path": str(bundled_model())} | body, JSON)
    return checked(answer, status)


def patch(client: Client, model: str, status: int = 200, **body: Any) -> dict[str, Any]:
    return checked(client.patch(f"/api/registry/{model}", body, JSON), status)


JSON = "application/json"


def checked(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.content
    found: dict[str, Any] = answer.json() if answer.content else {}
    return found["error"] if status >= 400 else found


def open_request(model: str) -> Request:
    user, _ = User.objects.get_or_create(username="olive")
    return Request.objects.create(user=user, surface="chat", model=model, title="t")


def test_the_configured_model_is_there_and_is_the_default(olive: Client) -> None:
    (row,) = checked(olive.get("/api/registry"), 200)["models"]
    assert (row["id"], row["state"], row["is_default"], row["is_configured"]) == (CONFIGURED, "enabled", True, True)
    assert (row["kind"], row["window"], row["has_key"]) == ("gguf", 8192, False)


def test_each_operation_needs_the_permission(redis_client: redis.Redis) -> None:
    bob = Client()
    bob.force_login(User.objects.create_user("bob", is_staff=True))
    paths = [("get", ""), ("post", ""), ("get", f"/{CONFIGURED}"), ("patch", f"/{CONFIGURED}")]
    for method, path in [*paths, ("delete", f"/{CONFIGURED}"), ("post", f"/{CONFIGURED}/check")]:
        body = {"id": "a", "kind": "gguf", "path": "/a"} if (method, path) == ("post", "") else {}
        for client, status in ((bob, 403), (Client(), 401)):
            assert getattr(client, method)(f"/api/registry{path}", body, JSON).status_code == status, path
    assert RegisteredModel.objects.count() == 1


def test_a_new_model_waits_for_its_check_and_is_not_offered(olive: Client) -> None:
    row = post(olive, num_workers=2)
    assert (row["state"], row["num_workers"], row["checked_at"]) == ("checking", 2, None)
    assert [model["id"] for model in olive.get("/api/session").json()["models"]] == [CONFIGURED]
    assert checked(olive.post("/api/conversations", {"model": "second"}, JSON), 404)["code"] == "unknown_model"
    assert post(olive, 409)["code"] == "model_exists"
    assert checked(olive.post("/api/registry/second/check"), 409)["code"] == "cannot_change"


def test_a_folder_with_safetensors_is_read_by_its_tokenizer(
    olive: Client, tmp_path: Path, metadata: Metadata, tokenizer: Tokenizer
) -> None:
    path = folder(tmp_path / "model", metadata, tokenizer)
    (path / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    (path / "model.safetensors").touch()
    row = post(olive, kind="safetensors", path=str(path))
    assert (row["state"], row["tokenizer_version"] is None) == ("checking", False)


def _folder(path: Path, **files: str) -> str:
    path.mkdir()
    for name, text in files.items():
        (path / name.replace("_dot_", ".")).write_text(text)
    return str(path)


def test_a_model_that_cannot_be_used_is_refused_by_its_field(olive: Client, tmp_path: Path) -> None:
    whole = bundled_model().read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.gguf").write_text("hello")
    empty = _folder(tmp_path / "empty")
    bare = _folder(tmp_path / "bare", model_dot_safetensors="")
    refused: list[tuple[dict[str, Any], str, str]] = [
        ({"id": ""}, "id", "1 to 100"),
        ({"id": "a" * 101}, "id", "1 to 100"),
        ({"id": "../second"}, "id", "a-z"),
        ({"id": "Second\u202e"}, "id", "a-z"),
        ({"num_workers": 0}, "num_workers", "1 to 8"),
        ({"num_workers": 9}, "num_workers", "1 to 8"),
        ({"path": "model.gguf"}, "path", "from / on"),
        ({"path": f"{tmp_path}/../x.gguf"}, "path", "without '..'"),
        ({"path": f"{tmp_path}/{'a' * 2000}"}, "path", "1000"),
        ({"path": f"{tmp_path}/nothing.gguf"}, "path", "no file"),
        ({"path": "/dev/zero"}, "path", "no file"),
        ({"path": f"{tmp_path}/cut.gguf"}, "path", "truncated"),
        ({"path": f"{tmp_path}/text.gguf"}, "path", "not a whole GGUF"),
        ({"path": empty}, "path", "is a folder"),
        ({"kind": "safetensors"}, "path", "is a file"),
        ({"kind": "safetensors", "path": empty}, "path", "no file *.safetensors"),
        ({"kind": "safetensors", "path": bare}, "path", "no config.json"),
        ({"url": "http://gpu:8000"}, "url", "Only a remote"),
        ({"key": KEY}, "key", "Only a remote"),
        (REMOTE | {"url": ""}, "url", "http://host:port"),
        (REMOTE | {"url": "ftp://gpu"}, "url", "http://host:port"),
        (REMOTE | {"url": "http://gpu:0"}, "url", "http://host:port"),
        (REMOTE | {"url": "http://gpu:x"}, "url", "http://host:port"),
        (REMOTE | {"url": "http://gpu\n:80"}, "url", "http://host:port"),
        (REMOTE | {"url": f"http://user:{KEY}@gpu"}, "url", "no password"),
        (REMOTE | {"url": f"http://gpu/?key={KEY}"}, "url", "no query"),
        (REMOTE | {"url": f"http://gpu/#{KEY}"}, "url", "no query"),
        (REMOTE | {"key": "a\nb"}, "key", "visible ASCII"),
        (REMOTE | {"key": "a" * 501}, "key", "500"),
    ]
    for body, field, words in refused:
        error = post(olive, 400, **body)
        assert (error["code"], error["field"]) == ("invalid", field), error
        assert words in error["message"], error
        assert KEY not in error["message"]
    assert RegisteredModel.objects.count() == 1


def test_all_fields_that_cannot_be_used_are_named_at_once(olive: Client) -> None:
    error = post(olive, 400, **(REMOTE | {"id": "", "url": "gpu", "path": "model.gguf", "num_workers": 0}))
    assert [problem["field"] for problem in error["problems"]] == ["id", "url", "path", "num_workers"]


def test_a_key_goes_in_and_never_comes_out(olive: Client, caplog: pytest.LogCaptureFixture) -> None:
    told = [post(olive, key=KEY, **REMOTE)]
    assert told[0]["has_key"] is True
    RegisteredModel.objects.filter(pk="second").update(state="enabled")
    told += [patch(olive, "second", num_workers=2), checked(olive.get("/api/registry"), 200)]
    told += [checked(olive.get("/api/session"), 200), checked(olive.get("/api/registry/second"), 200)]
    assert RegisteredModel.objects.get(pk="second").key == KEY
    moved = patch(olive, "second", url="http://elsewhere:8000")
    assert (moved["has_key"], moved["state"]) == (False, "checking")
    assert RegisteredModel.objects.get(pk="second").key == ""
    patch(olive, "second", key=KEY)
    patch(olive, "second", key=f"{KEY}2")
    RegisteredModel.objects.filter(pk="second").update(state="retired")
    assert olive.delete("/api/registry/second").status_code == 204
    entries = list(LogEntry.objects.filter(content_type__model="registeredmodel"))
    assert {entry.actor.username for entry in entries} == {"olive"}
    kept = [(entry.changes, entry.additional_data, entry.serialized_data, entry.object_repr) for entry in entries]
    assert "(hidden)" in str(kept)
    assert KEY not in f"{json.dumps(told)}{kept}{caplog.text}{RegisteredModel(key=KEY)!r}"


def test_a_model_is_drained_retired_and_deleted_in_this_order(olive: Client) -> None:
    registered("second")
    assert "Drain it first" in patch(olive, "second", 409, state="retired")["message"]
    assert "enabled" in checked(olive.delete("/api/registry/second"), 409)["message"]
    assert patch(olive, "second", state="drained")["state"] == "drained"
    error = checked(olive.delete("/api/registry/second"), 409)
    assert (error["code"], error["message"]) == ("model_in_use", "This model is drained. Retire it first.")
    request = open_request("second")
    assert "1 request of this model is open" in patch(olive, "second", 409, state="retired")["message"]
    request.delete()
    assert patch(olive, "second", state="retired")["state"] == "retired"
    open_request("second")
    assert checked(olive.delete("/api/registry/second"), 409)["code"] == "model_in_use"
    Request.objects.all().delete()
    assert olive.delete("/api/registry/second").status_code == 204
    assert olive.get("/api/registry/second").status_code == 404
    assert patch(olive, "second", 404, state="enabled")["code"] == "not_found"


def test_a_drained_model_is_enabled_again_a_retired_one_by_its_check_and_a_failed_one_by_a_good_one(
    olive: Client,
) -> None:
    registered("second", state="drained")
    assert patch(olive, "second", state="enabled")["state"] == "enabled"
    registered("third", state="retired")
    assert patch(olive, "third", state="enabled")["state"] == "checking"
    assert "being checked" in patch(olive, "third", 409, state="enabled")["message"]
    assert checked(olive.delete("/api/registry/third"), 409)["code"] == "model_in_use"
    assert patch(olive, "third", state="retired")["state"] == "retired"
    registered("fourth", state="failed", message="It broke.")
    assert "Check it first" in patch(olive, "fourth", 409, state="enabled")["message"]
    assert "Only an enabled one" in patch(olive, "fourth", 409, state="drained")["message"]
    again = checked(olive.post("/api/registry/fourth/check"), 200)
    assert (again["state"], again["message"]) == ("checking", "")


def test_the_default_is_one_enabled_model(olive: Client) -> None:
    registered("second")
    registered("third", state="drained")
    for body in ({"state": "drained"}, {"state": "retired"}, {"is_default": False}):
        assert patch(olive, CONFIGURED, 409, **body)["code"] == "cannot_change"
    assert checked(olive.post(f"/api/registry/{CONFIGURED}/check"), 409)["code"] == "cannot_change"
    assert "Only an enabled one" in patch(olive, "third", 409, is_default=True)["message"]
    assert patch(olive, "second", is_default=True)["is_default"] is True
    assert [row["is_default"] for row in olive.get("/api/registry").json()["models"]] == [True, False, False]
    assert olive.get("/api/session").json()["default_model"] == "second"
    assert checked(olive.post("/api/conversations", {}, JSON), 201)["model"] == "second"
    assert patch(olive, CONFIGURED, state="drained")["state"] == "drained"


def test_the_configured_model_changes_with_the_environment_alone(olive: Client) -> None:
    registered("second", is_default=False)
    patch(olive, "second", is_default=True)
    for body in ({"path": str(bundled_model().parent / "x")}, {"key": "k"}, {"num_workers": 3}):
        assert patch(olive, CONFIGURED, 400 if "path" in body or "key" in body else 409, **body)
    patch(olive, CONFIGURED, state="drained")
    assert "SIGHTGLASS_MODEL" in patch(olive, CONFIGURED, 409, state="retired")["message"]
    assert "SIGHTGLASS_MODEL" in checked(olive.delete(f"/api/registry/{CONFIGURED}"), 409)["message"]


def test_workers_of_a_former_place_take_no_more_requests(
    olive: Client, redis_client: redis.Redis, tmp_path: Path
) -> None:
    registered("second")
    beat(redis_client, "vm:1", "second")
    beat(redis_client, "vm:2", CONFIGURED)
    moved = tmp_path / "moved.gguf"
    moved.symlink_to(bundled_model())
    assert checked(olive.post("/api/registry/second/check"), 200)["num_ready_workers"] == 1
    assert redis_client.smembers(DRAINED_WORKERS) == set()
    assert patch(olive, "second", path=str(moved))["state"] == "checking"
    assert redis_client.smembers(DRAINED_WORKERS) == {b"vm:1"}


@on_postgres
def test_two_operators_at_once_leave_one_default_and_add_an_id_once(olive: Client) -> None:
    ben = operator("ben")
    for model in ("second", "third"):
        registered(model)
    late = called_during(lambda: patch(olive, "second", is_default=True), lambda: patch(ben, "third", is_default=True))
    assert late["is_default"] is True
    assert RegisteredModel.objects.get(is_default=True).pk == "third"
    late = called_during(lambda: post(olive, id="new"), lambda: post(ben, 409, id="new"))
    assert late["code"] == "model_exists"
    late = called_during(
        lambda: patch(olive, "third", is_default=True), lambda: patch(ben, "third", 409, state="drained")
    )
    assert late["code"] == "cannot_change"


def test_the_figures_are_those_of_each_model(olive: Client, redis_client: redis.Redis) -> None:
    registered("second")
    beat(redis_client, "vm:1", "second")
    beat(redis_client, "vm:2", "second", state="loading")
    open_request("second")
    Conversation.objects.create(user=User.objects.get(username="olive"), model=CONFIGURED)
    rows = {row["id"]: row for row in olive.get("/api/registry").json()["models"]}
    names = ("num_ready_workers", "num_open_requests", "num_conversations")
    assert [rows["second"][name] for name in names] == [1, 1, 0]
    assert [rows[CONFIGURED][name] for name in names] == [0, 0, 1]


def test_a_remote_model_alone_may_have_vision(olive: Client) -> None:
    assert post(olive, 400, has_vision=True)["field"] == "has_vision"
    assert not post(olive, **REMOTE)["has_vision"]
    changed = patch(olive, "second", has_vision=True)
    assert changed["has_vision"] and changed["state"] == "checking"
    assert patch(olive, CONFIGURED, 400, has_vision=True)["field"] == "has_vision"
