"""Places of the library's rows: index among several answers, index in a set of runs, and sets as one row each."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.webapp.inputs import SAVED
from tests.webapp.traces.library.test_filters import found, saved, signed_in
from webapp.api.requests.places import placed
from webapp.api.traces import traces as views
from webapp.requests.models import Request
from webapp.surfaces.chat.models import Conversation, Message
from webapp.surfaces.runs.models import Rerun, Run
from webapp.traces import store
from webapp.traces.library import listing as library

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


def rerun(user: User, statuses: list[str], **of_set: Any) -> tuple[str, list[str]]:
    """A set with a run of each status; its id, and its requests' in the order of the runs."""
    known = {"title": "T", "model": "m", "input": SAVED, "params": {}, "seeds": "fresh", "prompt_check": {}}
    made = Rerun.objects.create(user=user, **known | {"n": len(statuses)} | of_set)
    ids = [saved(user, surface="replay", status=status, params={"seed": n}) for n, status in enumerate(statuses)]
    for index, pk in enumerate(ids):
        Run.objects.create(rerun=made, index=index, params={}, request_id=pk, settings={"temperature": index})
    return made.pk, ids


def rows(client: Client, **asked: Any) -> list[dict[str, Any]]:
    answer = client.get("/api/requests", asked)
    assert answer.status_code == 200, answer.content
    return list(answer.json()["requests"])


def test_answers_to_one_message_are_counted_in_their_order(alice: User) -> None:
    conversation = Conversation.objects.create(user=alice, model="m")
    question = Message.objects.create(conversation=conversation, role="user", user_text="?")
    ids = [saved(alice, params={"seed": 7 + n}) for n in range(3)]
    for pk in ids:
        Message.objects.create(conversation=conversation, parent=question, role="assistant", request_id=pk)
    alone = saved(alice)
    client = signed_in(alice)
    by_id = {row["id"]: row for row in rows(client)}
    assert [by_id[pk]["answer"] for pk in ids] == [{"index": n, "num": 3} for n in range(3)]
    assert [by_id[pk]["seed"] for pk in ids] == [7, 8, 9]
    assert (by_id[alone]["answer"], by_id[alone]["seed"], by_id[alone]["run"]) == (None, None, None)
    shown = client.get(f"/api/requests/{ids[1]}").json()
    assert (shown["answer"], shown["seed"], shown["message_id"]) == (
        {"index": 1, "num": 3},
        8,
        by_id[ids[1]]["message_id"],
    )


def test_a_run_says_which_of_how_many_also_when_others_are_gone(alice: User) -> None:
    rerun_id, ids = rerun(alice, ["done"] * 4, n=2, grid={"temperature": [0, 1]})
    client = signed_in(alice)
    assert client.delete(f"/api/requests/{ids[0]}").status_code == 204
    places = {row["id"]: (row["rerun_id"], row["run"]) for row in rows(client)}
    assert places == {
        pk: (rerun_id, {"index": n, "num": 4, "settings": {"temperature": n}}) for n, pk in enumerate(ids) if n
    }


def test_what_goes_while_a_page_is_made_is_no_error(alice: User) -> None:
    """Between the query that found it and those that say where it stands."""
    _, ids = rerun(alice, ["done"])
    alone = saved(alice)
    found = list(library.listed(alice.pk).select_related("message", "run"))
    store.delete(Request.objects.get(pk=ids[0]))
    Request.objects.filter(pk=alone).delete()
    assert len(found) == 2
    for row, request in zip(views.listed(found), found, strict=True):
        assert (row.id, row.run, row.seed, row.marks) == (request.pk, None, None, None)
        assert placed(request).rerun_id is None


def test_a_set_is_one_row_of_a_grouped_list_and_all_of_them_by_its_filter(alice: User) -> None:
    rerun_id, ids = rerun(alice, ["done", "stopped", "done"])
    Request.objects.filter(pk__in=ids[:2]).update(cost_nano=5, currency="EUR")
    other = saved(alice)
    client = signed_in(alice)
    grouped = rows(client, is_grouped="true")
    assert {row["id"] for row in grouped} == {ids[2], other}
    sets = {row["id"]: row["set"] for row in grouped}
    status = {"done": 2, "stopped": 1}
    assert sets == {ids[2]: {"ids": ids, "status": status, "cost_nano": 10, "currency": "EUR"}, other: None}
    assert set(found(client, rerun=rerun_id)) == set(ids)
    assert {row["id"] for row in rows(client)} == {*ids, other}


def test_what_a_filter_leaves_of_a_set_is_its_row(alice: User) -> None:
    _, ids = rerun(alice, ["done", "failed", "done"])
    client = signed_in(alice)
    (row,) = rows(client, is_grouped="true", status="done")
    assert (row["id"], row["set"]["ids"]) == (ids[2], [ids[0], ids[2]])
    (row,) = rows(client, is_grouped="true", status="failed")
    assert (row["id"], row["set"]) == (ids[1], None)  # one run is a row as any other


def test_a_set_is_its_owners_alone(alice: User) -> None:
    rerun_id, _ = rerun(alice, ["done", "done"])
    bob = signed_in(User.objects.create_user("bob"))
    assert rows(bob, rerun=rerun_id) == []
    assert rows(bob, is_grouped="true") == []
    assert bob.get("/api/requests", {"is_grouped": "perhaps"}).json()["error"]["field"] == "is_grouped"


@given(st.lists(st.integers(0, 4), max_size=9))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_grouped_pages_have_every_trace_once(alice: User, monkeypatch: pytest.MonkeyPatch, sizes: list[int]) -> None:
    """0: a request of its own; else a set of so many runs."""
    monkeypatch.setattr(views, "PAGE", 2)
    Request.objects.all().delete()
    for size in sizes:
        if size:
            rerun(alice, ["done"] * size)
        else:
            saved(alice)
    client, cursor, seen = signed_in(alice), "", list[str]()
    while cursor is not None:
        page = client.get("/api/requests", {"is_grouped": "true", "cursor": cursor}).json()
        for row in page["requests"]:
            seen += row["set"]["ids"] if row["set"] else [row["id"]]
        cursor = page["next_cursor"]
    assert len(seen) == len(set(seen))
    assert set(seen) == set(Request.objects.values_list("pk", flat=True))
