"""Records the requests that `manage.py seed_demo` shows with their traces.

Starts the product's processes twice on data folders of their own, under the names of the demonstration's models, and
asks the questions of `scripts.demo_conversations`. In the incident there is no worker at first. The next one is killed
in the middle of an answer, and the other requests wait for the third. Only the workers' names are changed in the logs,
since they name this machine.

    python -m scripts.record_demo
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from scripts import demo_conversations as planned
from scripts.demo_conversations import Planned
from scripts.demo_site import Site, running
from webapp.operations.demo.recorded_conversations import FILE, RecordedConversation, RecordedMessage, write

MODELS = {
    "demo-small": (planned.SMALL, planned.SMALL_IN_THE_INCIDENT),
    "demo-large": (planned.LARGE, planned.LARGE_IN_THE_INCIDENT),
}
_BETWEEN_S = 1.5
"""Between two requests that wait."""


def begin(site: Site, each: Planned) -> str:
    """Begin the conversation. Returns its id."""
    body = {"system_prompt": each.system_prompt, "params": each.params}
    return str(site.post("/api/conversations", body)["id"])


def ask(site: Site, conversation: str, text: str, parent: str | None = None) -> dict[str, Any]:
    """Send a question. Returns the message of its answer."""
    sent = site.post(f"/api/conversations/{conversation}/messages", {"text": text, "parent_id": parent})
    answer: dict[str, Any] = sent["assistant_message"]
    return answer


def converse(site: Site, each: Planned) -> str:
    """Ask one question after the other. Returns the conversation's id."""
    conversation, parent = begin(site, each), None
    for question in each.questions:
        answer = ask(site, conversation, question, parent)
        site.settled(answer["request_id"])
        parent = answer["id"]
    for number in range(each.num_regenerated):
        again = site.post(f"/api/messages/{parent}/regenerate", {"params": each.params | {"seed": 2 + number}})
        site.settled(again["assistant_message"]["request_id"])
    return conversation


def lose_worker(site: Site, each: Planned) -> str:
    """Ask without a worker, start one, and kill it in the middle of its answer. Returns the conversation's id."""
    conversation = begin(site, each)
    answer = ask(site, conversation, each.questions[0])
    worker = site.start_worker()
    site.follow_text(answer["request_id"])
    site.kill(worker)
    site.settled(answer["request_id"])
    return conversation


def wait_for_a_worker(site: Site, waiting: Sequence[Planned]) -> list[str]:
    """Ask while there is no worker, then start one. Returns the ids of the conversations."""
    begun, answers = [begin(site, each) for each in waiting], []
    for conversation, each in zip(begun, waiting, strict=True):
        answers.append(ask(site, conversation, each.questions[0]))
        time.sleep(_BETWEEN_S)
    site.start_worker()
    for answer in answers:
        site.settled(answer["request_id"])
    return begun


def kept(site: Site, conversation_id: str, kind: Any) -> RecordedConversation:
    """The conversation as the product kept it."""
    found = site.get(f"/api/conversations/{conversation_id}")
    messages = tuple(
        RecordedMessage(
            each["id"],
            each["parent_id"],
            each["role"],
            each["text"] if each["role"] == "user" else "",
            each["request_id"],
        )
        for each in found["messages"]
    )
    return RecordedConversation(kind, found["model"], found["title"], found["system_prompt"], found["params"], messages)


def record(model: str) -> tuple[list[RecordedConversation], dict[str, bytes]]:
    calm, incident = MODELS[model]
    with running(model) as site:
        worker = site.start_worker()
        site.wait_for_worker()
        ids = [converse(site, each) for each in calm]
        site.kill(worker)
        ids.append(lose_worker(site, planned.LOST))
        ids += wait_for_a_worker(site, incident)
        kinds = [each.kind for each in (*calm, planned.LOST, *incident)]
        conversations = [kept(site, each, kind) for each, kind in zip(ids, kinds, strict=True)]
        return conversations, {each: site.trace(each) for found in conversations for each in found.request_ids}


def main() -> None:
    conversations, traces = [], {}
    for model in MODELS:
        found, saved = record(model)
        conversations += found
        traces |= saved
    write(conversations, traces)
    print(f"Wrote {len(traces)} requests, {FILE.stat().st_size:,} bytes: {FILE}")


if __name__ == "__main__":
    main()
