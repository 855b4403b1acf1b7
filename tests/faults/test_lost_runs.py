"""A set of runs whose worker is killed in the midst: each of its runs still gets its answer, from the next worker."""

from __future__ import annotations

from tests.faults.conftest import Processes, kill, until


def test_a_set_outlives_its_worker(processes: Processes) -> None:
    worker = processes.start_inference()
    original = processes.send("Write a story about a river.", max_tokens=40, temperature=0.7)
    assert processes.settled(original)["status"] == "done"
    made = processes.client.post(f"/api/requests/{original}/reruns", json={"n": 6}).raise_for_status().json()

    def runs() -> list[dict[str, object]]:
        found: list[dict[str, object]] = processes.client.get(f"/api/reruns/{made['id']}").json()["runs"]
        return found

    until(lambda: any(run["state"] == "running" for run in runs()), 120)
    kill(worker)
    processes.wait_until_unready()
    assert any(run["state"] != "done" for run in runs())
    processes.start_inference()
    until(lambda: all(run["state"] == "done" for run in runs()), 240)
    texts = {answer(processes, str(run["request"]["id"])) for run in runs()}  # type: ignore[index]
    assert texts == {answer(processes, original)}


def answer(processes: Processes, request_id: str) -> tuple[int, ...]:
    """Its token ids."""
    return tuple(event["id"] for event in processes.events(request_id) if event["type"] == "token.sampled")
