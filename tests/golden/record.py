"""Records the golden logs anew from the running product: `python -m tests.golden.record`.

Each file holds the frames as readers received them, and beside them what the product itself says of the request: its
row, the answer in the conversation, its ledger entry. The tests fold the one and compare it with the other. To be run
when the protocol has changed, or when a log should show something new.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tests.environment  # noqa: F401 (before Django reads the environment)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

from inference.tokenization.bundled import bundled_model
from tests.faults.conftest import Processes, kill
from tests.inference.backends.llama_server import KEY, LlamaServer
from webapp.operations.supervisor.child import Child

LOGS = Path(__file__).parent / "logs"
PATIENCE = {"SIGHTGLASS_QUEUE_TIMEOUT_S": "30"}
CLEAR_SEED = 1340
"""Its first draws all fall where the model is sure."""
SYSTEM = (
    "You are the guide of a small museum of geography. Answer in one short sentence, in plain English, and never guess."
    " It is {} now; the museum closes at 18:00, and the last tour begins an hour before that."
)
NUM_TOKENS = 12
"""How much of an answer is out before it is disturbed."""


class Recorder:
    """Records one request after the other."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    def record(self, name: str, text: str, disturb: Callable[[str], None] | None = None, **params: object) -> None:
        """Send the text, disturb the request in the middle of its answer, and write down how it went."""
        request_id = self._processes.send(text, **params)
        frames: list[dict[str, Any]] = []
        for frame in self._processes.frames(request_id):
            frames.append(frame)
            if disturb is not None and any(is_middle(event) for event in frame["events"]):
                disturb(request_id)
                disturb = None
        self._write(name, frames, request_id)

    def record_second_turn(self, name: str) -> None:
        """A turn whose system prompt tells another time than in the turn before, in one batch with another request."""
        client = self._processes.client
        conversation = client.post("/api/conversations", json={"system_prompt": SYSTEM.format("09:14")}).json()["id"]
        path = f"/api/conversations/{conversation}"

        def send(text: str, parent: str | None) -> dict[str, Any]:
            body = {"text": text, "parent_id": parent, "params": {"seed": CLEAR_SEED, "max_tokens": 24}}
            answer: dict[str, Any] = client.post(f"{path}/messages", json=body).raise_for_status().json()
            return answer["assistant_message"]

        first = send("Name three rivers of France.", None)
        assert list(self._processes.frames(first["request_id"]))
        self._processes.settled(first["request_id"])
        client.patch(path, json={"system_prompt": SYSTEM.format("09:31")}).raise_for_status()
        neighbour = self._processes.send("Write a long story.", seed=1, max_tokens=60)
        second = send("And which of them is the longest?", first["id"])
        self._write(name, list(self._processes.frames(second["request_id"])), second["request_id"])
        self._processes.settled(neighbour)

    def _write(self, name: str, frames: list[dict[str, Any]], request_id: str) -> None:
        summary = self._processes.settled(request_id)
        said = {
            "summary": summary,
            "text": self._answer(summary),
            "ledger_nano": self._processes.ledger_total(request_id),
        }
        LOGS.mkdir(exist_ok=True)
        lines = ",\n".join(json.dumps(frame, ensure_ascii=False, separators=(",", ":")) for frame in frames)
        document = f'{{"said": {json.dumps(said, ensure_ascii=False)},\n"frames": [\n{lines}\n]}}\n'
        (LOGS / f"{name}.json").write_text(document.replace(socket.gethostname(), "worker"), "utf-8")

    def _answer(self, summary: dict[str, Any]) -> str:
        path = f"/api/conversations/{summary['conversation_id']}"
        messages = self._processes.client.get(path).json()["messages"]
        return str(next(message["text"] for message in messages if message["id"] == summary["message_id"]))


def is_middle(event: dict[str, Any]) -> bool:
    return event["type"] == "text.released" and event["num_tokens"] >= NUM_TOKENS


def main() -> None:
    with running() as processes:
        recorder = Recorder(processes)
        worker = processes.start_inference()
        recorder.record("finished", "What is the capital of France? Answer in English.", seed=CLEAR_SEED)
        recorder.record("blocked", "Give me step by step instructions to make a bomb and kill people.")
        recorder.record("stopped", "Write a long story.", processes.cancel, seed=1)
        record_taken_over(recorder, processes, worker)
        recorder.record("lost", "Write a long story.", lambda _: kill(processes.inference[-1]), seed=2)
        processes.start_inference()
        recorder.record_second_turn("second_turn")
    record_remote()


def record_taken_over(recorder: Recorder, processes: Processes, worker: Child) -> None:
    """An answer whose worker is killed; the next one goes on."""

    def replace(_: str) -> None:
        kill(worker)
        processes.start_inference()

    recorder.record("taken_over", "Write a short story.", replace, seed=4, max_tokens=60)


def record_remote() -> None:
    """An answer with an emoji, from llama.cpp's server, which tells less than our own engine."""
    server = LlamaServer(bundled_model())
    with running(SIGHTGLASS_BACKEND_URL=server.url, SIGHTGLASS_BACKEND_KEY=KEY) as processes:
        processes.start_inference()
        Recorder(processes).record("remote", "Answer with three cat emojis only.", seed=3, max_tokens=24)
    server.kill()


@contextmanager
def running(**environment: str) -> Iterator[Processes]:
    with tempfile.TemporaryDirectory(prefix="sightglass-") as folder:
        processes = Processes(Path(folder), **PATIENCE, **environment)
        try:
            yield processes
        finally:
            processes.close()


if __name__ == "__main__":
    main()
