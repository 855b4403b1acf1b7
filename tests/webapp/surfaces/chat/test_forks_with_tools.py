"""A fork of an answer that called tools keeps the rounds before its place as recorded, and goes on with the tools."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import redis
from django.test import Client

from inference.protocol.codec import decode_generation
from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationFinished,
    GenerationForked,
    PromptTokenized,
    TextReleased,
    ToolApprovalAsked,
    ToolCalled,
    ToolFinished,
)
from inference.protocol.generations import by_number, numbered
from inference.protocol.request import GenerationRequest, SamplingParams, Usage
from inference.protocol.tool_calls import written
from inference.tokenization.tokenizer import Tokenizer
from tests.queues import GENERATE
from tests.webapp.lifecycle.test_dispatch import body
from tests.webapp.lifecycle.test_fork import sampled
from tests.webapp.surfaces.chat.test_forks import events_of, only, post, sign_in
from webapp.lifecycle.advance import report
from webapp.lifecycle.tasks import prepare
from webapp.lifecycle.tool_calls import run_calls
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.rounds import MAX_ROUNDS
from webapp.surfaces.chat.models import Message
from webapp.surfaces.chat.sending import said

pytestmark = pytest.mark.django_db(transaction=True)

CALL = written("calculator", '{"expression": "17 * 23"}')
OTHER_CALL = written("calculator", '{"expression": "1 + 1"}')
RENAME = written("rename_conversation", '{"title": "Sums"}')


@pytest.fixture
def alice(redis_client: object) -> Client:
    return sign_in("alice")


class Work:
    """What the workers do with queued generations and calls."""

    def __init__(self, client: redis.Redis, tokenizer: Tokenizer) -> None:
        self._client, self._tokenizer = client, tokenizer

    def queued(self) -> GenerationRequest:
        return decode_generation(body(self._client, GENERATE)[0])

    def answer(self, request: Request, text: str) -> list[int]:
        """Write an answer for the queued generation and report it; the ids that were sampled."""
        asked, ids = self.queued(), self._tokenizer.encode(text)
        self._client.delete(GENERATE)
        assert services.event_log().claim(request.pk, asked.attempt)
        first = len(asked.kept_ids)
        tokens: list[AnyEvent] = [
            msgspec.structs.replace(sampled(first + at, each), piece=self._tokenizer.piece(each))
            for at, each in enumerate(ids)
        ]
        usage = Usage(uncached_input=len(asked.prompt_ids), output=len(ids))
        ended = GenerationFinished(at=9, finish_reason="stop", usage=usage, prefill_us=0, decode_us=0)
        events = [*tokens, TextReleased(at=9, text=text, num_tokens=len(ids)), ended]
        services.event_log().append(request.pk, [numbered(each, asked.generation) for each in events], asked.attempt)
        report(request.pk, None, asked.attempt)
        return ids

    def call(self) -> None:
        found = body(self._client, "tools")
        self._client.delete("tools")
        run_calls(*found)


@pytest.fixture
def work(redis_client: redis.Redis, tokenizer: Tokenizer) -> Work:
    return Work(redis_client, tokenizer)


def asked(client: Client, *tools: str, **more: Any) -> Request:
    settings = {"params": {"seed": 7, "max_tokens": 100}, "system_prompt": "", "tools": tools}
    _, conversation = post(client, "/api/conversations", settings)
    status, sent = post(client, f"/api/conversations/{conversation['id']}/messages", {"text": "Compute.", **more})
    assert status == 201, sent
    return begun(sent)


def begun(sent: dict[str, Any]) -> Request:
    request = Request.objects.get(pk=sent["assistant_message"]["request_id"])
    prepare(request.pk)
    return request


def forked(client: Client, parent: Request, **place: Any) -> Request:
    status, sent = post(client, f"/api/requests/{parent.pk}/fork", place)
    assert status == 201, sent
    return begun(sent)


@pytest.fixture
def parent(alice: Client, work: Work) -> Request:
    """An answer of two generations, whose first one called a tool."""
    request = asked(alice, "calculator", must_call=True)
    work.answer(request, f"I compute. {CALL}")
    work.call()
    work.answer(request, "It is 391.")
    return request


def test_a_fork_of_the_last_generation_keeps_the_call_before_it_and_may_call_again(
    alice: Client, parent: Request, work: Work, tokenizer: Tokenizer
) -> None:
    of_parent = by_number(events_of(parent.pk))[1]
    fork = forked(alice, parent, position=2)
    asked_of = work.queued()
    assert asked_of.prompt_ids == only(of_parent, PromptTokenized).ids
    assert asked_of.kept_ids == tuple(tokenizer.encode("It is 391."))[:2]
    calls = asked_of.params.tool_calls
    assert calls is not None and not calls.is_required
    spent = len(tokenizer.encode(f"I compute. {CALL}"))
    assert asked_of.params.max_tokens == 100 - spent
    kept = only(events_of(fork.pk), GenerationForked)
    assert kept.from_generation == 1 and [each.calls[0].result for each in kept.rounds] == ["391"]
    work.answer(fork, OTHER_CALL)
    work.call()
    events = events_of(fork.pk)
    assert (only(events, ToolCalled).call_id, only(events, ToolFinished).result) == ("call_1_0", "2")
    context = by_number(events)[1]
    sources = [each.source for each in only(context, ContextAssembled).segments if each.kind == "result"]
    assert sources == ["tool:call_0_0", "tool:call_1_0"]
    beginning = (*asked_of.prompt_ids, *asked_of.kept_ids, *tokenizer.encode(OTHER_CALL))
    assert only(context, PromptTokenized).ids[: len(beginning)] == beginning
    used = spent + len(asked_of.kept_ids) + len(tokenizer.encode(OTHER_CALL))
    assert work.queued().params.max_tokens == 100 - used


def test_later_turns_read_the_kept_calls_and_the_forks_own(alice: Client, parent: Request, work: Work) -> None:
    fork = forked(alice, parent, position=2)
    work.answer(fork, OTHER_CALL)
    work.call()
    work.answer(fork, "So 2.")
    fork.refresh_from_db()
    assert fork.output_text == f"It is{OTHER_CALL}So 2."
    message = Message.objects.get(request=fork)
    told = [each.content for each in said(message)]
    assert told[0] == f"I compute. {CALL}" and "391" in told[1]
    assert told[2] == f"It is{OTHER_CALL}" and told[4:] == ["So 2."]
    shown = alice.get(f"/api/conversations/{message.conversation_id}").json()["messages"]
    assert [each["result"] for each in shown[-1]["calls"]] == ["391", "2"]


def test_a_fork_within_an_earlier_generation_drops_what_came_after_it(
    alice: Client, parent: Request, work: Work, tokenizer: Tokenizer
) -> None:
    of_parent = by_number(events_of(parent.pk))[0]
    ids = tokenizer.encode(f"I compute. {CALL}")
    fork = forked(alice, parent, position=3, generation=0)
    asked_of = work.queued()
    assert asked_of.prompt_ids == only(of_parent, PromptTokenized).ids and asked_of.kept_ids == tuple(ids[:3])
    assert asked_of.params.tool_calls is not None and asked_of.params.tool_calls.is_required
    work.answer(fork, text_after(tokenizer, ids, 3))
    work.call()
    assert only(events_of(fork.pk), ToolFinished).result == "391"
    assert only(events_of(fork.pk), ToolCalled).call_id == "call_0_0"


def text_after(tokenizer: Tokenizer, ids: list[int], position: int) -> str:
    return b"".join(map(tokenizer.piece, ids[position:])).decode()


def test_a_fork_of_a_fork_keeps_the_rounds_of_both(alice: Client, parent: Request, work: Work) -> None:
    first = forked(alice, parent, position=1)
    work.answer(first, OTHER_CALL)
    work.call()
    work.answer(first, "It is 2.")
    second = forked(alice, first, position=1)
    kept = only(events_of(second.pk), GenerationForked)
    assert [call.result for each in kept.rounds for call in each.calls] == ["391", "2"]
    assert kept.from_generation == 1
    work.answer(second, CALL)
    work.call()
    assert only(events_of(second.pk), ToolCalled).call_id == "call_2_0"


def test_kept_rounds_count_to_the_most_rounds(alice: Client, parent: Request, work: Work) -> None:
    fork = forked(alice, parent, position=0, generation=1)
    for _ in range(MAX_ROUNDS - 2):
        work.answer(fork, OTHER_CALL)
        work.call()
    assert work.queued().params.tool_calls is None
    work.answer(fork, "Enough.")
    fork.refresh_from_db()
    assert fork.status == "done" and fork.rounds is not None and len(fork.rounds) == MAX_ROUNDS - 1


def test_a_call_that_changes_something_is_asked_about_again(alice: Client, work: Work) -> None:
    parent = asked(alice, "rename_conversation")
    work.answer(parent, RENAME)
    work.call()
    status, _ = post(alice, f"/api/requests/{parent.pk}/approvals", {"call_id": "call_0_0", "approve": False})
    assert status < 300
    fork = forked(alice, parent, text=RENAME, generation=0)
    work.answer(fork, " ")
    work.call()
    assert only(events_of(fork.pk), ToolApprovalAsked).name == "rename_conversation"
    assert not any(isinstance(each, ToolCalled) for each in events_of(fork.pk))


def test_other_settings_keep_the_tools(alice: Client, parent: Request, work: Work) -> None:
    forked(alice, parent, position=1, params={"temperature": 1.5, "max_tokens": 100})
    params = work.queued().params
    assert params.temperature == 1.5 and params.tool_calls is not None


def test_a_fork_with_a_text_of_its_user_need_not_call(alice: Client, parent: Request, work: Work) -> None:
    forked(alice, parent, text="Hello", generation=0)
    calls = work.queued().params.tool_calls
    assert calls is not None and not calls.is_required
    forked_by_place = forked(alice, parent, position=1, generation=0)
    assert msgspec.convert(forked_by_place.params, SamplingParams).tool_calls.is_required  # type: ignore[union-attr]


@pytest.mark.parametrize("place", [{"generation": 2, "position": 0}, {"generation": -1, "position": 0}])
def test_a_generation_that_the_answer_lacks_is_refused(alice: Client, parent: Request, place: dict[str, int]) -> None:
    status, refused = post(alice, f"/api/requests/{parent.pk}/fork", place)
    assert (status, refused["error"]["code"], refused["error"]["field"]) == (400, "unknown_generation", "generation")


def test_a_form_by_regex_is_refused_where_the_answer_has_tools(alice: Client, parent: Request) -> None:
    status, refused = post(alice, f"/api/requests/{parent.pk}/fork", {"position": 1, "params": {"regex": "a+"}})
    assert (status, refused["error"]["field"]) == (400, "params.regex")
