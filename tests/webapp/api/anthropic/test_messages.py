"""Anthropic's turns, blocks, tools and breakpoints as the model's messages, and what is refused of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from inference.protocol.tool_calls import MAX_TOOLS
from webapp.api.anthropic.call import prompt_of
from webapp.api.anthropic.messages import ReadPrompt
from webapp.api.anthropic.shapes import CountBody
from webapp.ground.gateway.errors import ApiError

KEEP = {"type": "ephemeral"}
SCHEMA = {"type": "object", "properties": {}}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content[0] if isinstance(content[0], str) else list(content)}


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def call(name: str = "clock", id: str = "a") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": {"zone": "Zürich"}}


def result(content: Any = "noon", id: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def tool(name: str = "clock", **more: Any) -> dict[str, Any]:
    return {"name": name, "input_schema": SCHEMA, **more}


def read(*messages: Any, **more: Any) -> ReadPrompt:
    body = msgspec.convert({"model": "m", "messages": messages, **more}, CountBody)
    return prompt_of(body, is_able=False)


def turns(prompt: ReadPrompt) -> list[tuple[str, str]]:
    """The messages as the model reads them: parts put together."""
    found: list[tuple[str, str]] = []
    for each in prompt.messages:
        if each.is_continued:
            role, before = found.pop()
            found.append((role, before + each.content))
        else:
            found.append((each.role, each.content))
    return found


def refused(*messages: Any, **more: Any) -> str:
    with pytest.raises(ApiError) as caught:
        read(*messages, **more)
    assert caught.value.status == 400
    return caught.value.message


def test_texts_of_one_message_are_one_text_and_turns_of_one_role_are_one_message() -> None:
    prompt = read(
        user(text("Say"), text(" hello")), user("Now."), assistant("Hello."), user("Again."), system="Be brief."
    )
    assert turns(prompt) == [
        ("system", "Be brief."),
        ("user", "Say hello\n\nNow."),
        ("assistant", "Hello."),
        ("user", "Again."),
    ]


def test_the_system_prompt_may_be_blocks_and_the_tools_follow_it() -> None:
    prompt = read(user("Hi"), system=[text("Be"), text(" brief.")], tools=[tool(description="Tells the time.")])
    ((_, told), _) = turns(prompt)
    assert told.startswith("Be brief.\n\nYou can call these tools:")
    assert '"description": "Tells the time."' in told


def test_the_model_reads_calls_as_it_writes_them_and_their_results() -> None:
    prompt = read(
        user("What time is it?"),
        assistant(text("Let me see."), call("clock", "a"), call("clock", "b")),
        user(result("noon", "b"), result([text("no"), text("on")], "a", is_error=True), text("So?")),
        tools=[tool()],
    )
    written = '<tool_call>{"name": "clock", "arguments": {"zone": "Zürich"}}</tool_call>'
    assert turns(prompt)[2:] == [
        ("assistant", "Let me see." + written + written),
        (
            "user",
            "<tool_response>\nnoon\n</tool_response>\n<tool_response>\nError: noon\n</tool_response>\n\nSo?",
        ),
    ]


def test_thoughts_and_calls_of_other_servers_are_left_out_of_the_prompt() -> None:
    thoughts = [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    ]
    assert turns(read(user("Hi"), assistant(*thoughts, text("Hello.")), user("So?")))[1] == ("assistant", "Hello.")


def test_a_document_of_text_is_read_with_its_title() -> None:
    plain = {"type": "text", "media_type": "text/plain", "data": "It rains."}
    blocks = {"type": "content", "content": [text("It"), text("snows.")]}
    prompt = read(
        user({"type": "document", "source": plain, "title": "Weather"}, {"type": "document", "source": blocks})
    )
    assert turns(prompt) == [("user", "<document>\nWeather\nIt rains.\n</document><document>\nIt\nsnows.\n</document>")]


def test_a_last_message_of_the_assistant_begins_the_answer() -> None:
    assert turns(read(user("Count."), assistant("1, 2,")))[-1] == ("assistant", "1, 2,")
    assert turns(read(user("Count."), assistant(""))) == [("user", "Count.")]


def test_a_system_message_stands_after_the_user() -> None:
    prompt = read(user("Hi"), system("Be brief."), assistant("Hello."), user("So?"), system("Briefer."))
    assert [role for role, _ in turns(prompt)] == ["user", "system", "assistant", "user", "system"]
    assert "must follow one of the user" in refused(system("Be brief."), user("Hi"))
    assert "must be last or before" in refused(user("Hi"), system("Be brief."), user("Hi"))


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([], "1 to 100,000 messages"),
        ([assistant("Hi")], "needs a message of the user"),
        ([user("")], "has no content"),
        ([user(text(""))], "has no content"),
        ([user("Hi"), assistant(""), user("Hi")], "messages[1] has no content"),
        ([user(call())], "tool_use block, which no user message may have"),
        ([user("Hi"), assistant(result())], "tool_result block, which no assistant message may have"),
        ([user("Hi"), {"role": "system", "content": [call()]}], "which no system message may have"),
        ([user(result())], "unexpected tool_use_id"),
        ([user("Hi"), assistant(call()), user(result(id="b"))], "unexpected tool_use_id"),
        ([user("Hi"), assistant(call()), user(result(), result())], "unexpected tool_use_id"),
        ([user("Hi"), assistant(call()), user("Hi")], "without tool_result blocks immediately after: a"),
        ([user("Hi"), assistant(call(), call(id="b")), user(result())], "immediately after: b"),
        ([user("Hi"), assistant(call())], "immediately after: a"),
        ([user("Hi"), assistant(call()), user(text("So?"), result())], "results come first"),
        ([user("Hi"), assistant(call(), call()), user(result())], "that another block has too"),
        ([user("Hi"), assistant(call("a b")), user(result())], "which no tool may have"),
        ([user({"type": "document", "source": {"type": "base64", "data": "x"}})], "kind document with a source of the"),
        ([user("Hi"), assistant(call()), user(result([IMAGE]))], "kind image cannot stand here"),
        ([user("a\x00b")], "NUL"),
        ([user(text("", cache_control=KEEP), text("Hi"))], "an empty text takes no cache_control"),
    ],
)
def test_what_may_not_stand_there_is_refused_by_its_place(messages: list[Any], told: str) -> None:
    assert told in refused(*messages)


def test_results_in_two_messages_of_the_user_answer_one_turn() -> None:
    prompt = read(user("Hi"), assistant(call(), call(id="b")), user(result()), user(result(id="b"), text("So?")))
    assert turns(prompt)[-1][0] == "user"


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        ([{"type": "web_search_20250305", "name": "web_search", "max_uses": 1}], "no tool of the type"),
        ([tool("a b")], "has the name 'a b'"),
        ([tool(), tool()], "two tools with the name 'clock'"),
        ([tool(f"t{number}") for number in range(MAX_TOOLS + 1)], f"takes 1 to {MAX_TOOLS} tools"),
        ([{"name": "clock"}], "input_schema is missing"),
        ([{"name": "clock", "input_schema": {}}], "must have the type 'object'"),
        ([tool(colour="red")], "There is no field colour"),
        ([tool(description=1)], "tools[0]: description must be a text"),
    ],
)
def test_tools_that_cannot_be_are_refused(tools: list[Any], told: str) -> None:
    assert told in refused(user("Hi"), tools=tools)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "'m' does not think"),
        ({"thinking": {"type": "adaptive"}}, "'m' does not think"),
        ({"mcp_servers": []}, "mcp_servers is not supported"),
        ({"thread": {"type": "create"}}, "Send all messages, without thread"),
        ({"system": [text("a", cache_control=KEEP)] * 5}, "4 blocks with cache_control at most; this one has 5"),
        (
            {"system": [text("a", cache_control=KEEP)], "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            "1h may not come after one of 5m",
        ),
    ],
)
def test_what_this_server_cannot_do_is_refused_by_name(more: dict[str, Any], told: str) -> None:
    assert told in refused(user("Hi"), **more)


def test_breakpoints_tell_how_much_of_the_prompt_they_cover() -> None:
    hour = {"type": "ephemeral", "ttl": "1h"}
    prompt = read(
        user(text("Hi"), text(" there", cache_control=KEEP)),
        assistant("Hello."),
        user("So?"),
        system=[text("Be"), text(" brief.", cache_control=hour)],
        tools=[tool("a"), tool("b", cache_control=hour)],
        cache_control=KEEP,
    )
    assert len(prompt.messages) == 7  # two of the system, the tools, two of the user, and two more
    assert [(each.place, each.ttl, each.num_messages) for each in prompt.breakpoints] == [
        ("tools[1]", "1h", 3),
        ("system[1]", "1h", 2),
        ("messages[0].content[1]", "5m", 5),
        ("cache_control", "5m", 7),
    ]
