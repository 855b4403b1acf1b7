"""The trace library's filters: each finds its matches, pages stay complete, and errors carry advice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inference.protocol.events import AnyEvent, Frame, RequestFinished, SafetyChecked
from inference.protocol.request import Usage
from webapp.api.traces import traces as views
from webapp.requests.models import FILTERED, Request
from webapp.requests.outcome import fold
from webapp.traces.library.filters import FilterError, conditions_of
from webapp.traces.models import Entry, Tag, Trace

pytestmark = pytest.mark.database

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
VERDICTS = [None, "allow", "flag", "block"]


def saved(
    user: User, created_at: datetime = NOON, search_text: str = "", tags: tuple[str, ...] = (), **more: Any
) -> str:
    """A settled request with its trace; Entry's own fields go there."""
    of_entry = {name: more.pop(name) for name in ("is_pinned", "note") if name in more}
    known = {"surface": "chat", "model": "m", "title": "T", "status": "done", "finished_at": NOON} | more
    request = Request.objects.create(user=user, **known)
    Request.objects.filter(pk=request.pk).update(created_at=created_at)
    Trace.objects.create(request=request, blob=b"")
    entry = Entry.objects.create(trace_id=request.pk, search_text=search_text, **of_entry)
    Tag.objects.bulk_create([Tag(entry=entry, name=name) for name in tags])
    return request.pk


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def found(client: Client, **asked: Any) -> list[str]:
    """Ids of all pages of a list."""
    ids: list[str] = []
    cursor = ""
    while cursor is not None:
        page = client.get("/api/requests", asked | {"cursor": cursor}).json()
        ids += [row["id"] for row in page["requests"]]
        cursor = page["next_cursor"]
    return ids


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("asked", "this", "that"),
    [
        ({"model": "m2"}, {"model": "m2"}, {}),
        ({"surface": "openai"}, {"surface": "openai"}, {}),
        ({"status": "failed"}, {"status": "failed"}, {}),
        ({"finish_reason": "length"}, {"finish_reason": "length"}, {"finish_reason": "stop"}),
        ({"verdict": "flag"}, {"safety_verdict": "flag"}, {"safety_verdict": "block"}),
        ({"verdict": "none"}, {}, {"safety_verdict": "allow"}),
        ({"cost_nano_min": 5}, {"cost_nano": 5}, {"cost_nano": 4}),
        ({"cost_nano_max": 5}, {"cost_nano": 5}, {"cost_nano": 6}),
        ({"cost_nano_min": 0}, {"cost_nano": 0}, {"cost_nano": None}),
        ({"duration_us_min": 5, "duration_us_max": 6}, {"duration_us": 6}, {"duration_us": 7}),
        ({"first_text_us_max": 6}, {"first_text_us": 6}, {"first_text_us": 7}),
        ({"first_token_us_min": 6}, {"first_token_us": 6}, {"first_token_us": 5, "first_text_us": 6}),
        ({"first_token_us_max": 6}, {"first_token_us": 6}, {"first_token_us": None}),
        ({"tag": "a"}, {"tags": ("a", "b")}, {"tags": ("b",)}),
        ({"tag": ["a", "b"]}, {"tags": ("a", "b", "c")}, {"tags": ("a", "c")}),
        ({"is_pinned": "true"}, {"is_pinned": True}, {}),
        ({"is_pinned": "false"}, {}, {"is_pinned": True}),
        ({"is_imported": "true"}, {"is_imported": True}, {}),
        ({"q": "RIVER"}, {"search_text": "a river"}, {"search_text": "a rover"}),
        ({"q": "100%"}, {"search_text": "100% sure"}, {"search_text": "100 sure"}),
        ({"since": "2026-01-31"}, {"created_at": NOON}, {"created_at": NOON - timedelta(days=1)}),
        ({"until": "2026-01-31"}, {"created_at": NOON}, {"created_at": NOON + timedelta(days=1)}),
        ({"since": "2026-01-31T13:00:00+01:00"}, {"created_at": NOON}, {"created_at": NOON - timedelta(seconds=1)}),
        ({"until": "2026-01-31T12:00:01Z"}, {"created_at": NOON}, {"created_at": NOON + timedelta(seconds=1)}),
        ({"q": "", "status": ""}, {}, None),
    ],
)
def test_a_filter_keeps_what_meets_it(asked: Any, this: Any, that: Any) -> None:
    alice, bob = User.objects.create_user("alice"), User.objects.create_user("bob")
    kept = saved(alice, **this)
    saved(bob, **this)
    if that is not None:
        saved(alice, **that)
    assert found(signed_in(alice), **asked) == [kept]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("asked", "field", "said"),
    [
        ({"stats": "done"}, "stats", "did you mean 'status'?"),
        ({"tool": "search"}, "tool", "There is no filter"),
        ({"user": "bob"}, "user", "use q, model"),
        ({"status": "dun"}, "status", "done, stopped"),
        ({"finish_reason": "stopped"}, "finish_reason", "stop, length"),
        ({"verdict": "bad"}, "verdict", "allow, flag"),
        ({"cost_nano_min": "1.5"}, "cost_nano_min", "whole number"),
        ({"cost_nano_min": "9" * 30}, "cost_nano_min", "whole number"),
        ({"duration_us_max": "-1"}, "duration_us_max", "whole number"),
        ({"is_pinned": "yes"}, "is_pinned", "true or false"),
        ({"since": "yesterday"}, "since", "2026-01-31"),
        ({"since": "2026-02-30"}, "since", "2026-01-31"),
        ({"until": "9999-12-31"}, "until", "2026-01-31"),
        ({"since": "0001-01-01T00:00:00+23:59"}, "since", "2026-01-31"),
        ({"q": "x" * 300}, "q", "200 characters"),
        ({"sort": "cost"}, "sort", "cost_nano"),
        ({"sort": "--cost_nano"}, "sort", "minus"),
    ],
)
def test_a_filter_that_means_nothing_is_explained(asked: dict[str, str], field: str, said: str) -> None:
    response = signed_in(User.objects.create_user("alice")).get("/api/requests", asked)
    assert (response.status_code, response.json()["error"]["field"]) == (400, field)
    assert said in response.json()["error"]["message"]


ROW = st.fixed_dictionaries(
    {
        "created_at": st.integers(0, 3).map(lambda minutes: NOON + timedelta(minutes=minutes)),
        "status": st.sampled_from(["done", "failed"]),
        "safety_verdict": st.sampled_from(VERDICTS),
        "cost_nano": st.none() | st.integers(0, 3),
        "search_text": st.sampled_from(["river", "sea"]),
        "tags": st.sets(st.sampled_from("ab")).map(tuple),
        "is_pinned": st.booleans(),
    }
)
MEETS: dict[str, Callable[[dict[str, Any], str], bool]] = {
    "status": lambda row, text: row["status"] == text,
    "verdict": lambda row, text: row["safety_verdict"] == (None if text == "none" else text),
    "cost_nano_min": lambda row, text: row["cost_nano"] is not None and row["cost_nano"] >= int(text),
    "cost_nano_max": lambda row, text: row["cost_nano"] is not None and row["cost_nano"] <= int(text),
    "q": lambda row, text: text.lower() in row["search_text"],
    "tag": lambda row, text: text in row["tags"],
    "is_pinned": lambda row, text: row["is_pinned"] == (text == "true"),
    "since": lambda row, text: row["created_at"] >= datetime.fromisoformat(text),
}
ASKED = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["done", "failed"]),
        "verdict": st.sampled_from(["none", "allow", "flag"]),
        "cost_nano_min": st.sampled_from("0123"),
        "cost_nano_max": st.sampled_from("0123"),
        "q": st.sampled_from(["RIV", "sea"]),
        "tag": st.sampled_from("ab"),
        "is_pinned": st.sampled_from(["true", "false"]),
        "since": st.integers(0, 3).map(lambda minutes: (NOON + timedelta(minutes=minutes)).isoformat()),
    },
)


def test_more_filters_than_a_database_can_join_are_refused() -> None:
    query = "&".join(f"tag=t{n}" for n in range(70))
    for asked in (query, query[: len("tag=t10&") * 25]):
        with pytest.raises(FilterError, match=r"[Aa]t most"):
            conditions_of(asked)


FIGURES = ["num_input_tokens", "num_output_tokens", "first_token_us", "first_text_us", "duration_us", "cost_nano"]
SORTS = ["", "-created_at", "created_at", "-cost_nano", "cost_nano"]


def in_order(kept: dict[str, dict[str, Any]], sort: str) -> list[str]:
    """Without a sort newest first; a cost that is not known comes last, and equal ones newest first."""
    ids = sorted(kept, key=lambda each: (kept[each]["created_at"], each), reverse=sort != "created_at")
    if not sort.endswith("cost_nano"):
        return ids
    sign = -1 if sort.startswith("-") else 1
    known = [each for each in ids if kept[each]["cost_nano"] is not None]
    return sorted(known, key=lambda each: sign * kept[each]["cost_nano"]) + [each for each in ids if each not in known]


@pytest.mark.slow
@pytest.mark.django_db
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROW, max_size=12), asked=ASKED, sort=st.sampled_from(SORTS), size=st.integers(1, 4))
def test_pages_under_any_filters_add_up_to_what_meets_them(
    monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, Any]], asked: dict[str, str], sort: str, size: int
) -> None:
    """Each once, in order, whatever the size of a page and however many times or costs are equal or not known."""
    User.objects.all().delete()
    alice, bob = User.objects.create_user("alice"), User.objects.create_user("bob")
    kept = {}
    for row in rows:
        saved(bob, **row)
        request_id = saved(alice, **row)
        if all(MEETS[name](row, text) for name, text in asked.items()):
            kept[request_id] = row
    monkeypatch.setattr(views, "PAGE", size)
    assert found(signed_in(alice), sort=sort, **asked) == in_order(kept, sort)


@pytest.mark.django_db
@pytest.mark.parametrize("field", FIGURES)
def test_a_list_is_sorted_by_any_figure_and_its_index_has_it(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    alice = User.objects.create_user("alice")
    monkeypatch.setattr(views, "PAGE", 2)
    few, unknown, many = (saved(alice, **{field: figure}) for figure in (3, None, 20))
    assert found(signed_in(alice), sort=field) == [few, many, unknown]
    assert found(signed_in(alice), sort=f"-{field}") == [many, few, unknown]
    assert field in FILTERED


@pytest.mark.django_db
@pytest.mark.parametrize(
    "cursor", ["2026-01-01T00:00:00.0~req_a", "x~2026-01-01T00:00:00.0~req_a", f"{2**63}~2026-01-01T00:00:00.0~req_a"]
)
def test_a_cursor_of_another_order_gets_a_clear_error(cursor: str) -> None:
    alice = signed_in(User.objects.create_user("alice"))
    response = alice.get("/api/requests", {"sort": "-cost_nano", "cursor": cursor})
    assert (response.status_code, response.json()["error"]["field"]) == (400, "cursor")


@pytest.mark.django_db
def test_only_what_occurs_among_a_users_own_traces_can_be_chosen() -> None:
    alice, bob = User.objects.create_user("alice"), User.objects.create_user("bob")
    client = signed_in(alice)
    assert set(map(tuple, client.get("/api/requests/choices").json()["choices"].values())) == {()}
    saved(alice, surface="replay", finish_reason="stop", cost_nano=1, currency="EUR", safety_verdict="flag")
    saved(alice, surface="chat", finish_reason="stop", is_imported=True)
    saved(bob, surface="openai", model="other", status="failed", currency="USD")
    Request.objects.create(user=alice, surface="anthropic", model="m", title="gone", status="stopped", finished_at=NOON)
    assert client.get("/api/requests/choices").json()["choices"] == {
        "status": ["done"],
        "finish_reason": ["stop"],
        "verdict": ["flag", "none"],
        "surface": ["chat", "replay"],
        "model": ["m"],
        "is_imported": ["false", "true"],
        "currency": ["EUR"],
    }


CHECK = {
    "classifier": "c",
    "version": "1",
    "policy": "p",
    "scores": (),
    "start": 0,
    "end": 1,
    "duration_us": 1,
}


@given(
    st.lists(st.tuples(st.sampled_from(["input", "output"]), st.sampled_from(["allow", "flag", "rewrite", "block"])))
)
def test_the_worst_verdict_of_each_layer_and_of_all_is_kept(checks: list[tuple[Any, Any]]) -> None:
    events: list[AnyEvent] = [SafetyChecked(at=1, layer=layer, verdict=verdict, **CHECK) for layer, verdict in checks]
    outcome = fold([Frame(seq=1, events=(*events, RequestFinished(at=2, finish_reason="stop", usage=Usage())))])
    order = ["allow", "flag", "rewrite", "block"]
    assert set(outcome.safety_layers) == {layer for layer, _ in checks}
    for layer, verdict in outcome.safety_layers.items():
        assert order.index(verdict) == max(order.index(v) for name, v in checks if name == layer)
    worst = max((order.index(verdict) for _, verdict in checks), default=None)
    assert outcome.safety_verdict == (None if worst is None else order[worst])


@pytest.mark.django_db
def test_views_keep_a_filter_and_only_a_filter_that_holds() -> None:
    alice, bob = (signed_in(User.objects.create_user(name)) for name in ("alice", "bob"))

    def post(client: Client, **body: Any) -> Any:
        return client.post("/api/views", body, content_type="application/json")

    query = urlencode({"status": "failed", "q": "a & b"})
    made = post(alice, name="  Slow  ones ", query=query)
    assert (made.status_code, made.json()["name"], made.json()["query"]) == (201, "Slow ones", query)
    path = f"/api/views/{made.json()['id']}"
    assert alice.get("/api/views").json()["views"] == [made.json()]
    assert bob.get("/api/views").json()["views"] == []
    assert bob.delete(path).status_code == bob.patch(path, {}, "application/json").status_code == 404
    assert post(alice, name="Slow ones", query="").json()["error"]["code"] == "exists"
    assert post(bob, name="Slow ones", query="").status_code == 201
    for wrong in ({"name": "", "query": ""}, {"name": "a\n\x00", "query": ""}, {"name": "b" * 90, "query": ""}):
        assert post(alice, **wrong).json()["error"]["field"] == "name"
    for wrong in ("stats=done", "q=%00", "status=dun", "x" * 3000):
        assert post(alice, name="N", query=wrong).json()["error"]["field"] == "query"
    assert alice.patch(path, {"name": "Slow"}, "application/json").json()["name"] == "Slow"
    assert alice.patch(path, {"query": "tag=a"}, "application/json").json()["query"] == "tag=a"
    assert alice.delete(path).status_code == 204
    assert alice.get("/api/views").json()["views"] == []


@pytest.mark.django_db
def test_pin_note_and_tags_are_the_owner_s_alone() -> None:
    user = User.objects.create_user("alice")
    alice, bob = signed_in(user), signed_in(User.objects.create_user("bob"))
    path = f"/api/requests/{saved(user)}"
    body = {"is_pinned": True, "note": "  why so slow?\n", "tags": [" slow  one ", "b", "b"]}
    assert bob.patch(path, body, "application/json").status_code == 404
    assert Client().patch(path, body, "application/json").status_code == 401
    marks = alice.patch(path, body, "application/json").json()["marks"]
    assert marks == {"is_pinned": True, "note": "why so slow?", "tags": ["b", "slow one"]}
    assert alice.patch(path, {"tags": ["b"]}, "application/json").json()["marks"] == marks | {"tags": ["b"]}
    assert alice.get("/api/requests").json()["requests"][0]["marks"]["note"] == "why so slow?"
    assert alice.get("/api/requests/tags").json()["tags"] == [{"name": "b", "num_traces": 1}]
    assert bob.get("/api/requests/tags").json()["tags"] == []
    for wrong, field in (
        ({"tags": [""]}, "tags"),
        ({"tags": ["a\x00"]}, "tags"),
        ({"tags": ["x" * 41]}, "tags"),
        ({"tags": [str(n) for n in range(21)]}, "tags"),
        ({"note": "x" * 10_001}, "note"),
        ({"note": "\x00"}, "note"),
        ({"is_pinned": "yes"}, "is_pinned"),
    ):
        answer = alice.patch(path, wrong, "application/json")
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


@pytest.mark.django_db
def test_a_selection_is_tagged_and_deleted_and_never_another_s() -> None:
    user, other = User.objects.create_user("alice"), User.objects.create_user("bob")
    alice = signed_in(user)
    mine, failed, theirs = saved(user), saved(user, status="failed"), saved(other, status="failed")
    running = Request.objects.create(user=user, surface="chat", model="m", title="T")

    def post(path: str, **body: Any) -> Any:
        return alice.post(f"/api/requests/{path}", body, content_type="application/json")

    assert post("tags", ids=[mine, failed, theirs, running.pk], add=["a", "b"]).json() == {"num_traces": 2}
    assert post("tags", query="status=failed", add=["c"], remove=["a"]).json() == {"num_traces": 1}
    names = {
        request_id: set(Tag.objects.filter(entry_id=request_id).values_list("name", flat=True))
        for request_id in (mine, failed, theirs)
    }
    assert names == {mine: {"a", "b"}, failed: {"b", "c"}, theirs: set()}
    for wrong in ({}, {"ids": [], "query": ""}, {"query": "stats=x"}, {"ids": ["x"] * 1001}, {"ids": 5}):
        assert post("delete", **wrong).status_code == 400
    assert post("delete", ids=[theirs, running.pk, "req_\x00"]).json() == {"num_traces": 0}
    assert post("delete", query="status=failed").json() == {"num_traces": 1}
    assert set(Request.objects.values_list("pk", flat=True)) == {mine, theirs, running.pk}
