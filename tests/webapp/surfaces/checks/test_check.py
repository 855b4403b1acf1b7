"""A check waits for a worker, sends one request, and ends as enabled or failed, whatever dies in between."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.utils import timezone

from inference.eventlog.keys import DRAINED_WORKERS
from inference.protocol.events import AnyEvent, GenerationFinished, TextReleased
from inference.protocol.failures import SERVICE_STOPPED, Failure
from inference.protocol.request import Usage
from inference.tokenization.bundled import bundled_model
from tests.events import STARTED
from tests.lost_logs import lose
from tests.webapp.registered import beat, registered
from webapp.lifecycle.settle import settle
from webapp.lifecycle.start import QueueUnavailable
from webapp.lifecycle.tasks import prepare
from webapp.models.registry.configured import take_over
from webapp.models.registry.models import RegisteredModel
from webapp.requests import services
from webapp.requests.models import MAX_IN_FLIGHT, Request
from webapp.surfaces.checks import check
from webapp.surfaces.checks.check import APPEAR_TIME, LOAD_TIME, PARAMS, advance, advance_all
from webapp.usage.limits.models import Rule

pytestmark = pytest.mark.django_db(transaction=True)
MODEL = "second"


@pytest.fixture
def olive() -> User:
    return User.objects.create_user("olive")


@pytest.fixture
def row(olive: User, redis_client: redis.Redis) -> RegisteredModel:
    return registered(MODEL, state="checking", checker=olive, check_begun_at=timezone.now())


@pytest.fixture
def version(row: RegisteredModel) -> str:
    return services.prompt_services(MODEL).tokenizer.version


@pytest.fixture
def worker(redis_client: redis.Redis, version: str) -> Callable[..., None]:
    """Lets a worker of the model tell of itself."""
    return lambda state="ready", name="vm:1", **more: beat(
        redis_client, name, MODEL, state, **({"tokenizer": version} | more)
    )


def state_of() -> tuple[str, str]:
    row = RegisteredModel.objects.get(pk=MODEL)
    return row.state, row.message


def age(time: timedelta) -> None:
    RegisteredModel.objects.filter(pk=MODEL).update(check_begun_at=timezone.now() - time)


def log(request: Request, *events: AnyEvent) -> None:
    services.event_log().append(request.pk, events, request.attempt)


def answer(request: Request, num_tokens: int = 3) -> None:
    """What the inference worker leaves in the log, and its end."""
    usage = Usage(uncached_input=5, output=num_tokens)
    log(request, STARTED)
    if num_tokens:
        log(request, TextReleased(at=8, text="Hello!", num_tokens=num_tokens))
    log(request, GenerationFinished(at=9, finish_reason="stop", usage=usage, prefill_us=1, decode_us=1))
    settle(request.pk)


def test_a_ready_worker_gets_one_request_whose_end_enables_the_model(worker: Callable[..., None], olive: User) -> None:
    advance(MODEL)
    assert not Request.objects.exists()
    worker()
    for _ in range(2):
        advance_all()
    request = Request.objects.get()
    assert (request.user, request.surface, request.model) == (olive, "check", MODEL)
    assert request.params["temperature"] == 0 and request.params["max_tokens"] == PARAMS.max_tokens
    prepare(request.pk)
    answer(request)
    found = RegisteredModel.objects.get(pk=MODEL)
    assert (found.state, found.message, found.text) == ("enabled", "", "Hello!")
    assert found.check_request_id == request.pk and found.checked_at is not None


def test_a_worker_that_cannot_load_the_model_fails_it_with_its_own_words(worker: Callable[..., None]) -> None:
    worker("failed", message="The tensor output_norm.weight is missing.")
    worker("loading", name="vm:2")
    advance(MODEL)
    assert state_of() == ("checking", "")
    worker("failed", name="vm:2", message="The tensor output_norm.weight is missing.")
    advance(MODEL)
    assert state_of() == ("failed", "The tensor output_norm.weight is missing.")
    assert not Request.objects.exists()


def test_a_worker_of_a_former_place_does_not_count(worker: Callable[..., None], redis_client: redis.Redis) -> None:
    worker("failed", message="It cannot be reached.")
    worker("ready", name="vm:2")
    redis_client.sadd(DRAINED_WORKERS, "vm:1", "vm:2")
    advance(MODEL)
    assert state_of() == ("checking", "")
    assert not Request.objects.exists()


@pytest.mark.parametrize(
    ("state", "more", "time", "words"),
    [
        (None, {}, APPEAR_TIME, "No worker of this model was ready within 5 minutes"),
        ("loading", {}, LOAD_TIME, "has not loaded the model within 30 minutes"),
        ("ready", {"tokenizer": "another"}, APPEAR_TIME, "has loaded another tokenizer"),
    ],
)
def test_a_check_whose_worker_is_never_ready_fails_after_its_time(
    worker: Callable[..., None], state: str | None, more: dict[str, str], time: timedelta, words: str
) -> None:
    if state is not None:
        worker(state, **more)
    age(time - timedelta(seconds=30))
    advance(MODEL)
    assert state_of() == ("checking", "")
    age(time)
    advance(MODEL)
    assert state_of()[0] == "failed"
    assert words in state_of()[1]


def test_files_that_went_away_meanwhile_fail_it(tmp_path: Path, worker: Callable[..., None]) -> None:
    path = tmp_path / "model.gguf"
    shutil.copy(bundled_model(), path)
    RegisteredModel.objects.filter(pk=MODEL).update(path=str(path))
    path.unlink()
    advance(MODEL)
    assert state_of()[0] == "failed"
    assert "does not exist" in state_of()[1]


def test_a_failed_request_fails_the_model_with_its_message(worker: Callable[..., None]) -> None:
    worker()
    advance(MODEL)
    settle(Request.objects.get().pk, Failure("generation", "server_refused", "The server refused the key."))
    assert state_of() == ("failed", "The server refused the key.")


def test_an_answer_without_a_token_fails_the_model(worker: Callable[..., None]) -> None:
    worker()
    advance(MODEL)
    answer(Request.objects.get(), num_tokens=0)
    assert state_of() == ("failed", "The model ended its answer before its first token.")


def test_the_end_of_another_request_changes_nothing(worker: Callable[..., None], olive: User) -> None:
    worker()
    advance(MODEL)
    stale = Request.objects.get()
    RegisteredModel.objects.filter(pk=MODEL).update(check_request_id="")
    answer(stale)
    assert state_of() == ("checking", "")


def test_a_stop_of_the_product_leaves_the_check_to_the_next_start(worker: Callable[..., None], settings: Any) -> None:
    worker()
    advance(MODEL)
    first = Request.objects.get()
    age(APPEAR_TIME)
    settle(first.pk, SERVICE_STOPPED)
    advance(MODEL)
    assert (state_of(), Request.objects.count()) == (("checking", ""), 1)
    take_over(settings.ENVIRONMENT)
    advance(MODEL)
    answer(Request.objects.exclude(pk=first.pk).get())
    assert state_of() == ("enabled", "")


def test_an_end_that_its_process_did_not_live_to_note_is_noted_later(
    worker: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker()
    advance(MODEL)

    def die(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(check, "conclude", die)
        with pytest.raises(SystemExit):
            answer(Request.objects.get())
    assert state_of() == ("checking", "")
    advance(MODEL)
    assert state_of() == ("enabled", "")


def test_a_check_whose_request_was_deleted_fails(worker: Callable[..., None]) -> None:
    worker()
    advance(MODEL)
    Request.objects.all().delete()
    advance(MODEL)
    assert state_of() == ("failed", "The request of the check was deleted. Check the model again.")


def test_without_a_queue_the_check_waits(worker: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    worker()

    def refuse(*_: object) -> None:
        raise QueueUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(check, "start", refuse)
        advance(MODEL)
    assert (state_of(), Request.objects.count()) == (("checking", ""), 0)
    advance(MODEL)
    assert Request.objects.count() == 1


def test_a_check_waits_for_its_operators_other_requests(worker: Callable[..., None], olive: User) -> None:
    worker()
    Request.objects.bulk_create(Request(user=olive, surface="chat", model="m", title="t") for _ in range(MAX_IN_FLIGHT))
    advance(MODEL)
    assert (state_of(), Request.objects.filter(surface="check").count()) == (("checking", ""), 0)
    Request.objects.update(finished_at=timezone.now())
    advance(MODEL)
    assert Request.objects.filter(surface="check").count() == 1


def test_an_operator_who_is_stopped_or_gone_checks_nothing(worker: Callable[..., None], olive: User) -> None:
    worker()
    Rule.objects.create(user=olive, is_stopped=True, stop_reason="A reason.")
    advance(MODEL)
    assert state_of()[0] == "failed"
    assert "A reason." in state_of()[1]
    RegisteredModel.objects.filter(pk=MODEL).update(state="checking", checker=None)
    advance(MODEL)
    assert "is gone" in state_of()[1]


def test_one_broken_check_does_not_stop_those_after_it(worker: Callable[..., None], olive: User) -> None:
    registered("a-broken-one", state="checking", checker=olive, check_begun_at=None)
    worker()
    advance_all()
    assert Request.objects.get().model == MODEL


def test_a_log_that_is_lost_ends_the_check(worker: Callable[..., None], redis_client: redis.Redis) -> None:
    worker()
    advance(MODEL)
    request = Request.objects.get()
    lose(services.event_log(), request.pk, num_left=0, client=redis_client)
    settle(request.pk)
    assert state_of()[0] == "failed"
