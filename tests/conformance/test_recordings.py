"""The official Python clients through a recording's address: whole, streamed, and turn by turn."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx
import openai
import pytest

from tests.conformance.conftest import MODEL, Access
from tests.faults.conftest import Processes

SYSTEM = "You answer in a few words. " * 6
TOLD: Any = [{"role": "user", "content": "Name a river."}]


def turns_of(site: Processes, name: str) -> list[dict[str, Any]]:
    listed = site.client.get("/api/recordings").json()["recordings"]
    (found,) = (each for each in listed if each["name"] == name)
    turns: list[dict[str, Any]] = site.client.get(f"/api/recordings/{found['id']}").json()["turns"]
    return turns


def address(access: Access, name: str) -> str:
    return f"{access.address}/record/{name}"


def test_openai_python_records_its_turns(access: Access, site: Processes) -> None:
    with openai.OpenAI(base_url=f"{address(access, 'openai')}/v1", api_key=access.key, max_retries=0) as client:
        messages: Any = [{"role": "system", "content": SYSTEM}, *TOLD]
        first = client.chat.completions.create(model=MODEL, messages=messages, max_tokens=8, temperature=0)
        said = first.choices[0].message.content or ""
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": "And another one?"}]
        stream = client.chat.completions.create(model=MODEL, messages=messages, max_tokens=8, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
        response = client.responses.create(model=MODEL, input="Name a lake.", max_output_tokens=8)
        assert client.responses.retrieve(response.id).id == response.id
        assert MODEL in [each.id for each in client.models.list()]
        messages += [{"role": "assistant", "content": "The Po."}, {"role": "user", "content": "And one more?"}]
        client.chat.completions.create(model=MODEL, messages=messages, max_tokens=8)
    turns = turns_of(site, "openai")
    assert [(each["number"], each["surface"], each["status"]) for each in turns] == [
        (number, "openai", "done") for number in (1, 2, 3, 4)
    ]
    assert turns[0]["difference"] is None
    # The second turn goes on where the first one ended: its prompt is the first one's, and new messages.
    grown = turns[1]["difference"]
    assert (grown["before"], grown["num_changed"], grown["num_removed"]) == (turns[0]["id"], 0, 0)
    assert grown["num_added"] == 2
    assert grown["num_common_tokens"] >= turns[0]["usage"]["uncached_input"]
    assert turns[1]["usage"]["cache_read"] > 0
    # Another conversation began meanwhile, with which neither is compared.
    assert turns[2]["difference"] is None
    assert turns[3]["difference"]["before"] == turns[1]["id"]


def test_anthropic_python_records_its_turns(access: Access, site: Processes) -> None:
    with anthropic.Anthropic(base_url=address(access, "anthropic"), api_key=access.key, max_retries=0) as client:
        given: Any = {"model": MODEL, "max_tokens": 8, "system": SYSTEM}
        whole = client.messages.create(messages=TOLD, **given)
        said = [*TOLD, {"role": "assistant", "content": whole.content}, {"role": "user", "content": "And a lake?"}]
        with client.messages.stream(messages=said, **given) as stream:
            assert stream.get_final_message().usage.output_tokens
        assert client.messages.count_tokens(model=MODEL, messages=TOLD).input_tokens
    first, second = turns_of(site, "anthropic")
    assert [first["surface"], second["surface"]] == ["anthropic", "anthropic"]
    assert (second["difference"]["before"], second["difference"]["num_added"]) == (first["id"], 2)


def test_its_turns_are_the_traces_that_the_answers_name(access: Access, site: Processes) -> None:
    answer = httpx.post(
        f"{address(access, 'curl')}/v1/chat/completions",
        json={"model": MODEL, "messages": TOLD, "max_tokens": 4},
        headers={"Authorization": f"Bearer {access.key}"},
        timeout=240,
    )
    (turn,) = turns_of(site, "curl")
    assert answer.headers["Sightglass-Trace"] == f"{access.address}/requests/{turn['id']}"


@pytest.mark.parametrize("name", ["No", "a" * 41, "%2e%2e"])
def test_a_wrong_name_is_refused_in_the_clients_own_error(access: Access, name: str) -> None:
    client = openai.OpenAI(base_url=f"{address(access, name)}/v1", api_key=access.key, max_retries=0)
    with client, pytest.raises(openai.APIStatusError) as raised:
        client.chat.completions.create(model=MODEL, messages=TOLD)
    assert raised.value.status_code in (400, 404)


def test_a_wrong_key_is_refused_without_its_text_and_records_nothing(access: Access, site: Processes) -> None:
    wrong = access.key[:-1] + ("a" if access.key[-1] != "a" else "b")
    client = openai.OpenAI(base_url=f"{address(access, 'secret')}/v1", api_key=wrong, max_retries=0)
    with client, pytest.raises(openai.AuthenticationError) as raised:
        client.chat.completions.create(model=MODEL, messages=TOLD)
    assert wrong not in str(raised.value)
    assert all(each["name"] != "secret" for each in site.client.get("/api/recordings").json()["recordings"])
