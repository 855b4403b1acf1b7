"""Opens the data folder of each release, and nothing of it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from inference.protocol.events import PromptTokenized, TextReleased
from tests.releases.content import MODEL, PASSWORD, PROBE, USER, Author
from tests.releases.opened import Opened
from webapp.traces.export.formats import decode_file

pytestmark = pytest.mark.slow

RELEASES = sorted(path.parent for path in Path(__file__).parent.glob("*/data.tar.xz"))


@pytest.fixture(scope="module", params=RELEASES, ids=[path.name for path in RELEASES])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    product = Opened(request.param, tmp_path_factory.mktemp("data"))
    yield product
    product.end()


@pytest.fixture(scope="module")
def author(opened: Opened) -> Author:
    return Author(opened.operator)


def missing(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """Places of what the release said and this code does not. New fields and rows are no loss."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name, value in before.items():
            yield from missing(value, now.get(name), f"{place}/{name}")
    elif before != now:
        yield f"{place}: {before!r} became {now!r}"


def test_nothing_of_what_the_release_said_is_lost(opened: Opened) -> None:
    """Rows, settings, texts, prices, bills, sums of use and the events of each trace."""
    assert list(missing(opened.recorded["said"], opened.said)) == []


def test_every_kind_of_request_is_there(opened: Opened) -> None:
    """The folder is worth opening."""
    rows = opened.said["requests"].values()
    assert {row["surface"] for row in rows} >= {"chat", "openai", "anthropic", "replay", "summary"}
    assert {row["status"] for row in rows} >= {"done", "stopped", "blocked"}
    assert all(any(row[name] for row in rows) for name in ("forked_from", "rerun_id", "batch_id", "is_imported"))
    types = {name for row in rows for name in row["trace"]["types"]}
    assert types >= {"tool.finished", "attachment.selected", "memory.recalled", "embedding.computed"}


def test_pages_open(opened: Opened) -> None:
    chats, requests = (next(iter(opened.said[name])) for name in ("conversations", "requests"))
    for path in ("/", f"/c/{chats}", f"/requests/{requests}", "/library", "/usage", "/admin/"):
        assert opened.operator.get(path).status_code == 200, path


def test_each_trace_is_exported_as_a_file_that_holds_all_of_it(opened: Opened) -> None:
    for request_id, row in opened.said["requests"].items():
        file = export(opened.operator, request_id, "sgtrace")
        assert sum(len(frame.events) for frame in decode_file(file).frames) == sum(row["trace"]["types"].values())


@pytest.mark.parametrize("name", ["html", "json"])
def test_a_trace_of_each_surface_is_exported_as(opened: Opened, name: str) -> None:
    by_surface = {row["surface"]: request_id for request_id, row in opened.said["requests"].items()}
    for request_id in by_surface.values():
        frames = decode_file(export(opened.operator, request_id, name)).frames
        assert frames == decode_file(export(opened.operator, request_id, "sgtrace")).frames


def export(client: httpx.Client, request_id: str, name: str) -> bytes:
    return client.get(f"/api/requests/{request_id}/export?format={name}").raise_for_status().content


def test_links_open_for_whoever_has_them(opened: Opened) -> None:
    row = opened.said["requests"][opened.recorded["original"]]
    whole, redacted = (opened.visitor().get(path).raise_for_status().content for path in opened.recorded["shares"])
    assert text_of(whole) == row["trace"]["text"] != text_of(redacted)


def text_of(page: bytes) -> str:
    events = (event for frame in decode_file(page).frames for event in frame.events)
    return "".join(event.text for event in events if isinstance(event, TextReleased))


def test_a_look_into_the_model_was_kept(opened: Opened) -> None:
    """It is answered at once. A new one begins with 202."""
    path = f"/api/requests/{opened.recorded['original']}/probes"
    assert opened.operator.post(path, json=PROBE).status_code == 200


def test_keys_and_passwords_still_work(opened: Opened) -> None:
    program = opened.visitor(Authorization=f"Bearer {opened.recorded['key']}")
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4}
    assert program.post("/v1/chat/completions", json=body).raise_for_status().json()["usage"]["completion_tokens"] > 0
    person = opened.visitor()
    form = {"username": USER, "password": PASSWORD}
    person.get("/accounts/login/")
    signed_in = person.post("/accounts/login/", data=form, headers={"X-CSRFToken": person.cookies["csrftoken"]})
    assert signed_in.status_code == 302
    assert person.get("/api/session").raise_for_status().json()["user"]["name"] == USER


def test_bills_equal_the_ledger_and_the_sums_of_use(opened: Opened) -> None:
    rows = [row for row in opened.said["requests"].values() if row["bill"] is not None]
    assert len(rows) > 20 and all(row["bill"]["total_nano"] == row["cost_nano"] for row in rows)
    (cost,) = opened.said["usage"]["sums"]["cost"]
    assert opened.posted_nano == opened.used_nano == cost["nano"] > sum(row["cost_nano"] for row in rows)


def test_an_answer_is_forked(opened: Opened, author: Author) -> None:
    original = opened.recorded["original"]
    begun = author.post(f"/api/requests/{original}/fork", {"position": 2})["assistant_message"]
    done = author.settled(begun["request_id"])
    assert (done["status"], done["num_kept"]) == ("done", 2)
    messages = author.get(f"/api/conversations/{done['conversation_id']}")["messages"]
    beginnings = [each["text"][:2] for each in messages if each["request_id"] in (original, begun["request_id"])]
    assert len(beginnings) == 2 and len(set(beginnings)) == 1


def test_an_answer_is_run_again_with_its_prompt_and_seed(opened: Opened, author: Author) -> None:
    """Its words may differ: another machine computes by other instructions."""
    original = opened.recorded["original"]
    (run,) = author.run_again(original, {"n": 1})
    done, before = author.settled(run), opened.said["requests"][original]
    assert (done["status"], done["seed"]) == ("done", before["seed"])
    assert prompt(opened.operator, run) == prompt(opened.operator, original) != []


def prompt(client: httpx.Client, request_id: str) -> list[int]:
    """The ids of its tokens."""
    events = (event for frame in decode_file(export(client, request_id, "sgtrace")).frames for event in frame.events)
    return [token for event in events if isinstance(event, PromptTokenized) for token in event.ids]
