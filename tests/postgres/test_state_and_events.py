"""State and events agree at every moment, on both databases: who has seen an end finds all of it in the database.

In the manner of Zulip's verify_action: each action is applied to what a client knows, by its reply and its events; on
the terminal event a fresh read must be equal to that.
"""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from inference.protocol.events import Frame
from tests.faults.conftest import Processes
from webapp.requests.outcome import Outcome, fold
from webapp.traces.file.archive import decode

NUM_TURNS = 4
NUM_WORDS = 200
"""A long prompt takes a while to save."""
NUM_ACTIONS = 24
_SHOWN = ("id", "parent_id", "role", "text", "status", "request_id", "figures", "error", "fork_position", "num_kept")


@pytest.fixture
def served(running: Processes) -> Processes:
    """With an inference worker, which an earlier file may have started."""
    if not running.workers():
        running.start_inference()
    return running


class Known:
    """One conversation as a client knows it: from replies and events alone."""

    def __init__(self, served: Processes) -> None:
        self._served = served
        self._client = served.client
        body = {"params": {"max_tokens": 6, "temperature": 1.0}}
        made = self.post("/api/conversations", body)
        self.id: str = made["id"]
        self.title, self.leaf_id = "", ""
        self.messages: dict[str, dict[str, Any]] = {}

    def post(self, path: str, body: object) -> Any:
        return self._client.post(path, json=body).raise_for_status().json()

    @property
    def answers(self) -> list[dict[str, Any]]:
        return [each for each in self.messages.values() if each["role"] == "assistant"]

    @property
    def path(self) -> str:
        return f"/api/conversations/{self.id}"

    def send(self, parent_id: str | None, text: str, n: int = 1) -> None:
        reply = self.post(f"{self.path}/messages", {"parent_id": parent_id, "text": text, "n": n})
        self.title = reply["title"]
        self._take(reply["user_message"])
        self.begun(reply)

    def begun(self, reply: dict[str, Any], is_stopped: bool = False) -> None:
        """Follow the answers to their ends, one after the other; check each as its end is seen."""
        answers = [reply["assistant_message"], *reply["siblings"]]
        for answer in answers:
            self._take(answer)
        self.leaf_id = answers[0]["id"]
        if is_stopped:
            self._served.cancel(answers[0]["request_id"])
        for answer in answers:
            self._follow(answer["request_id"])

    def _take(self, message: dict[str, Any]) -> None:
        self.messages[message["id"]] = message

    def _follow(self, request_id: str) -> None:
        """Read to the terminal event, and compare what may be read then."""
        frames = [self._frame(frame) for frame in self._served.frames(request_id)]
        outcome = fold(frames)
        shown = next(each for each in self.messages.values() if each["request_id"] == request_id)
        fresh = self._client.get(self.path).json()
        row = self._client.get(f"/api/requests/{request_id}").json()
        listed = self._client.get("/api/requests").json()["requests"]
        saved = self._client.get(f"/api/requests/{request_id}/export?format=sgtrace").raise_for_status().content
        shown |= answered(outcome, shown)
        assert each_of(fresh["messages"])[shown["id"]] == each_of([shown])[shown["id"]]
        assert row.items() >= summarized(outcome).items()
        assert next(each for each in listed if each["id"] == request_id).items() >= summarized(outcome).items()
        assert flat(decode(saved).frames) == flat(frames)
        assert self._served.ledger_total(request_id) == (outcome.bill.total_nano if outcome.bill else 0)

    def _frame(self, frame: dict[str, Any]) -> Frame:
        return msgspec.convert(frame, Frame)

    def check(self) -> None:
        """A fresh read of the whole conversation is what was known."""
        fresh = self._client.get(self.path).json()
        assert (fresh["title"], fresh["leaf_id"]) == (self.title, self.leaf_id)
        assert each_of(fresh["messages"]) == each_of(self.messages.values())


def each_of(messages: Any) -> dict[str, dict[str, Any]]:
    return {message["id"]: {name: message[name] for name in _SHOWN} for message in messages}


def flat(frames: list[Frame]) -> list[Any]:
    return [event for frame in frames for event in frame.events]


def status_of(outcome: Outcome) -> str:
    if outcome.is_cancelled and outcome.finish_reason in (None, "abort"):
        return "stopped"
    if outcome.failure:
        return "blocked" if outcome.failure.code == "blocked" else "failed"
    return "withheld" if outcome.finish_reason == "content_filter" else "done"


def error_of(outcome: Outcome) -> dict[str, str] | None:
    failure = outcome.failure
    return {"stage": failure.stage, "code": failure.code, "message": failure.message} if failure else None


def figures_of(outcome: Outcome) -> dict[str, Any]:
    return {
        "usage": msgspec.to_builtins(outcome.usage),
        "cost_nano": outcome.bill.total_nano if outcome.bill else None,
        "currency": outcome.bill.currency if outcome.bill else "",
        "finish_reason": outcome.finish_reason,
        "first_text_us": outcome.first_text_us,
    }


def summarized(outcome: Outcome) -> dict[str, Any]:
    ends = {"num_events": outcome.num_events, "duration_us": outcome.duration_us, "error": error_of(outcome)}
    ends |= {"first_token_us": outcome.first_token_us, "between_tokens_us": outcome.between_tokens_us}
    return {"status": status_of(outcome), **figures_of(outcome), **ends}


def answered(outcome: Outcome, before: dict[str, Any]) -> dict[str, Any]:
    """What the events make of the message that the reply gave."""
    figures = figures_of(outcome) | {"max_tokens": 6}
    return {"text": outcome.text, "status": status_of(outcome), "error": error_of(outcome), "figures": figures}


def test_a_message_sent_as_an_answer_ends_is_assembled_with_that_answer(served: Processes) -> None:
    chat = Known(served)
    draw, said = random.Random(5), list[str]()
    for _ in range(NUM_TURNS):
        body = {"parent_id": said[-1] if said else None, "text": words(draw), "params": {"max_tokens": 4}}
        reply = chat.post(f"{chat.path}/messages", body)
        said.append(reply["user_message"]["id"])
        sources = sources_until_the_end(served, reply["assistant_message"]["request_id"])
        assert sources == {f"message:{each}" for each in said}
        said.append(reply["assistant_message"]["id"])


def words(draw: random.Random) -> str:
    return " ".join("".join(draw.choices("aeiounrst", k=5)) for _ in range(NUM_WORDS))


def sources_until_the_end(served: Processes, request_id: str) -> set[str]:
    """What the prompt was assembled from; returns the moment the terminal event is here."""
    sources = set[str]()
    for event in served.events(request_id):
        if event["type"] == "context.assembled":
            sources = {segment["source"] for segment in event["segments"]}
        if event["type"] == "request.finished":
            break
    return {source for source in sources if source.startswith("message:")}


def test_random_actions_leave_a_client_with_what_a_fresh_read_has(served: Processes) -> None:
    draw = random.Random(7)
    chat = Known(served)
    chat.send(None, "Tell me of the sea.")
    for number in range(NUM_ACTIONS):
        answer = draw.choice(chat.answers)
        path = f"/api/requests/{answer['request_id']}"
        match draw.choice(["send", "send", "several", "edit", "regenerate", "stop", "fork", "rename", "show", "begin"]):
            case "send":
                chat.send(answer["id"], f"And then? ({number})")
            case "several":
                chat.send(answer["id"], f"Say it in three ways. ({number})", n=3)
            case "edit":
                chat.send(chat.messages[answer["parent_id"]]["parent_id"], f"Tell me of the moon. ({number})")
            case "regenerate":
                chat.begun(chat.post(f"/api/messages/{answer['id']}/regenerate", {}))
            case "stop":
                chat.begun(chat.post(f"/api/messages/{answer['id']}/regenerate", {}), is_stopped=True)
            case "fork":
                chat.begun(chat.post(f"{path}/fork", {"text": "Once upon"}))
            case "rename":
                chat.title = f"The sea, {number}"
                served.client.patch(chat.path, json={"title": chat.title}).raise_for_status()
            case "show":
                chat.leaf_id = answer["id"]
                served.client.patch(chat.path, json={"leaf_id": answer["id"]}).raise_for_status()
            case "begin":
                served.client.delete(chat.path).raise_for_status()
                assert served.status(chat.path) == 404
                chat = Known(served)
                chat.send(None, f"Tell me of the wind. ({number})")
        chat.check()


def test_a_message_after_an_answer_that_is_being_written_is_refused(served: Processes) -> None:
    chat = Known(served)
    body = {"text": "Write about the sea.", "params": {"max_tokens": 400}}
    reply = served.client.post(f"{chat.path}/messages", json=body).raise_for_status().json()
    answer = reply["assistant_message"]
    events = served.events(answer["request_id"])
    assert any(event["type"] == "token.sampled" for event in events)
    after = {"parent_id": answer["id"], "text": "And then?"}
    refused = served.client.post(f"{chat.path}/messages", json=after)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "answer_open")
    assert len(served.client.get(chat.path).json()["messages"]) == 2
    served.cancel(answer["request_id"])
    assert list(events)[-1]["type"] == "request.finished"
    assert served.client.post(f"{chat.path}/messages", json=after).status_code == 201
