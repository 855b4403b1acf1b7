"""Files of other systems: the conversations read from them, and the message of each refusal."""

from __future__ import annotations

import json
import struct
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.surfaces.chat.exported import as_bytes, chatgpt, claude, gpt_node, open_webui, zipped
from webapp.surfaces.chat.imports.files import FileLimits, ImportFileError, Item, read_file
from webapp.surfaces.chat.imports.marks import moment
from webapp.surfaces.chat.imports.openwebui import without_details
from webapp.surfaces.chat.imports.tree import Brought, Draft, ImportProblem, Node, grow


def read(data: bytes, name: str = "conversations.json", limits: FileLimits | None = None) -> list[Item]:
    return list(read_file(name, data, limits or FileLimits()))


def only(conversation: Any) -> Brought:
    (item,) = read(as_bytes(conversation))
    assert item.draft is not None, item.problem
    return grow(item.draft)


def said(brought: Brought) -> list[tuple[int | None, str, str]]:
    return [(each.parent, each.role, each.text) for each in brought.messages]


def test_chatgpts_tree_becomes_questions_and_answers() -> None:
    brought = only(chatgpt())
    assert said(brought) == [
        (None, "user", "What is a lighthouse?"),
        (0, "assistant", "A tower."),
        (None, "user", "What is this?\n\n[image left out]"),
        (2, "assistant", "[tool call left out]\n\n[tool's result left out]\n\nA lighthouse, too."),
    ]
    assert (brought.title, brought.leaf) == ("Lighthouses", 3)
    assert [each.model for each in brought.messages] == ["", "gpt-4o", "", "gpt-4o"]
    assert brought.messages[0].at == 1_700_000_000.5


def test_claudes_list_becomes_a_tree() -> None:
    brought = only(claude())
    question = "Write a poem.\n\n[file: notes.txt]\n\nOf the sea.\n\n[file left out: sea.png]"
    assert said(brought) == [
        (None, "user", question),
        (0, "assistant", "[reasoning left out]\n\nThe sea."),
        (0, "assistant", "The waves."),
    ]
    assert brought.leaf == 1
    assert brought.draft.created_at == pytest.approx(1_767_323_045.678901)


def test_claudes_older_export_is_a_line() -> None:
    older = claude()
    for message in older["chat_messages"]:
        del message["parent_message_uuid"]
    assert [each.parent for each in only(older).messages] == [None, 0]
    assert only(older).messages[1].text.endswith("The sea.\n\nThe waves.")


def test_open_webuis_chats_keep_prompt_and_pin() -> None:
    brought = only(open_webui())
    assert said(brought) == [(None, "user", "2 + 2?"), (0, "assistant", "[reasoning left out]\nFour.")]
    assert (brought.draft.system_prompt, brought.draft.is_pinned, brought.title) == ("Be brief.", True, "Sums")
    assert only(open_webui()["chat"]).messages == brought.messages


def test_pieces_that_branch_are_an_answer_each() -> None:
    nodes = [
        Node("q", None, "user", "Q"),
        Node("a", "q", "assistant", "A"),
        Node("b", "a", "assistant", "B"),
        Node("c", "a", "assistant", "C"),
        Node("d", "a", "user", "D"),
    ]
    assert said(grow(Draft("", nodes))) == [
        (None, "user", "Q"),
        (0, "assistant", "A"),
        (0, "assistant", "A\n\nB"),
        (0, "assistant", "A\n\nC"),
        (1, "user", "D"),
    ]


def test_a_zip_file_is_searched_for_conversations() -> None:
    data = zipped({"user.json": b"{}", "chat.html": b"<p>", "conversations-000.json": as_bytes(chatgpt())})
    assert [item.place for item in read(data, "export.zip")] == ["conversations-000.json, conversation 1"]


def lying_zip() -> bytes:
    """It says that it unpacks to one byte."""
    data = bytearray(zipped({"conversations.json": b" " * 1000 + as_bytes(chatgpt())}))
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 1)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "neither a list nor an object"),
        (b"hello", "neither a list nor an object"),
        (b"[]", "has no conversations"),
        (b"[1, 2]", "it has b'1, 2' between them"),
        (b'[{"mapping": {}}', "neither a list nor an object"),
        (b'[{"mapping": {}]', "truncated: its list does not end"),
        (b'["no end]', "neither a list nor an object|truncated"),
        (b"[{}] {}]", "something follows its list"),
        (b"PK\x03\x04 nonsense", "truncated or damaged"),
        (zipped({"other.json": b"[]"}), "has no conversations.json"),
        (zipped({"conversations.json": as_bytes(chatgpt())})[:-40], "truncated or damaged"),
        (zipped({"conversations.json": as_bytes(chatgpt())}, zipfile.ZIP_LZMA), "store or deflate it"),
        (lying_zip(), "truncated|damaged|neither a list"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(data: bytes, sentence: str) -> None:
    with pytest.raises(ImportFileError, match=sentence):
        read(data)


def test_a_zip_bomb_is_not_unpacked() -> None:
    limits = FileLimits(max_unpacked_bytes=1 << 20)
    bomb = zipped({"conversations.json": b" " * (2 << 20) + as_bytes(chatgpt())})
    assert len(bomb) < 10_000
    with pytest.raises(ImportFileError, match="unpacks to more than 1 MiB"):
        read(bomb, limits=limits)
    lying = bytearray(bomb)
    at = lying.rindex(b"PK\x01\x02")
    lying[at + 24 : at + 28] = struct.pack("<I", 1000)
    with pytest.raises(ImportFileError):
        read(bytes(lying), limits=limits)


def test_too_many_conversations_are_refused() -> None:
    with pytest.raises(ImportFileError, match="more than 2 conversations"):
        read(as_bytes({}, {}, {}), limits=FileLimits(max_conversations=2))


@pytest.mark.parametrize("nested", [b"[" * 60 + b"]" * 60, b"[" + b"{}," * 60 + b"{}]"])
def test_a_file_of_brackets_is_refused_before_they_take_long(nested: bytes) -> None:
    """The files of a zip file count together."""
    limits = FileLimits(max_brackets=200)
    assert read(b"[{}, " + nested + b"]", limits=limits)
    pair = zipped({"conversations-0.json": b"[" + nested + b"]", "conversations-1.json": b"[" + nested + b"]"})
    for data in (b"[" + nested + b", " + nested + b"]", pair):
        with pytest.raises(ImportFileError, match="more than 200 brackets"):
            read(data, limits=limits)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"mapping": []}, "mapping must be an object, not a list."),
        ({"mapping": {"a": {"message": {"author": 5}}}}, "author must be an object, not a whole number."),
        ({"title": 5}, "title must be a text or null|title must be"),
        ({"create_time": "yesterday"}, "create_time must be"),
        ({"mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}}, "ancestor of itself"),
        ({"mapping": {}}, "no message with a text"),
    ],
)
def test_what_is_wrong_with_one_conversation_concerns_no_other(change: dict[str, Any], sentence: str) -> None:
    wrong, right = read(as_bytes(chatgpt() | change, claude()))
    with pytest.raises(ImportProblem, match=sentence):
        if wrong.draft is None:
            raise ImportProblem(wrong.problem)
        grow(wrong.draft)
    assert (wrong.place, right.place) == ("conversations.json, conversation 1", "conversations.json, conversation 2")
    assert right.draft is not None


def test_deep_nesting_and_long_texts_are_refused() -> None:
    deep = b'[{"mapping": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001 + b"]"
    assert read(deep)[0].problem
    long = chatgpt()
    long["mapping"]["first"] = gpt_node("system", "user", "x" * (1 << 20) + "x")
    with pytest.raises(ImportProblem, match="more than a message may"):
        only(long)
    many = {f"n{index}": gpt_node(None, "user", "Hi") for index in range(10_001)}
    with pytest.raises(ImportProblem, match="10,001 messages"):
        only(chatgpt() | {"mapping": many})


def test_an_answer_that_branches_often_does_not_grow_without_end() -> None:
    nodes = [Node("q", None, "user", "Q"), Node("a", "q", "assistant", "x" * (1 << 20))]
    nodes += [Node(f"b{index}", "a", "assistant", "y") for index in range(100)]
    with pytest.raises(ImportProblem, match="8,388,608 characters"):
        grow(Draft("", nodes))


def test_a_file_full_of_quotes_is_read_in_one_go() -> None:
    (item,) = read(b'[{"history": {}, "title": "' + b'\\"' * 500_000 + b'"}]')
    assert item.draft is not None


@pytest.mark.parametrize(
    ("value", "at"),
    [(1.7e9, 1.7e9), (1.7e12, 1.7e9), (1.7e18, 1.7e9), (-5, None), (float("inf"), None), (None, None), ("soon", None)],
)
def test_dates_are_told_in_several_units(value: Any, at: float | None) -> None:
    assert moment(value) == (None if at is None else pytest.approx(at))


def test_folded_html_that_does_not_end_stays() -> None:
    text = '<details type="reasoning">' * 3 + "x"
    assert without_details(text) == text


NAMES = [
    *("mapping", "message", "author", "role", "content", "content_type", "parts", "parent", "title", "chat", "history"),
    *("messages", "chat_messages", "uuid", "sender", "text", "format", "version", "id", "parentId", "currentId"),
    *("metadata", "attachments", "create_time"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@given(st.lists(JSON, max_size=4) | JSON)
def test_any_json_gives_conversations_or_a_sentence(value: Any) -> None:
    try:
        for item in read(json.dumps(value).encode()):
            assert (item.draft is None) == bool(item.problem)
            if item.draft is not None:
                grow(item.draft)
    except (ImportFileError, ImportProblem) as error:
        assert str(error).endswith(".")


CHANGES = st.sampled_from([None, 5, "x", [], {}, [[]], -1.5, True, "\x00", "2026-01-01"])


@given(st.data())
def test_any_field_may_lie(data: st.DataObject) -> None:
    """One value of a true export is another one."""
    conversation = data.draw(st.sampled_from([chatgpt, claude, open_webui]))()
    at: Any = conversation
    while True:
        key = data.draw(st.sampled_from(sorted(at)) if isinstance(at, dict) else st.integers(0, len(at) - 1))
        if not isinstance(at[key], dict | list) or not at[key] or data.draw(st.booleans()):
            break
        at = at[key]
    at[key] = data.draw(CHANGES)
    (item,) = read(as_bytes(conversation))
    if item.draft is None:
        assert item.problem.endswith(".")
        return
    try:
        assert grow(item.draft).messages
    except ImportProblem as error:
        assert str(error).endswith(".")


@given(st.binary(max_size=200) | st.binary(max_size=100).map(lambda data: b"[" + data + b"]"))
def test_any_bytes_give_conversations_or_a_sentence(data: bytes) -> None:
    try:
        read(data)
    except ImportFileError as error:
        assert str(error).endswith(".")
