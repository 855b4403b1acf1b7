"""Small sample files in other systems' export formats."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any


def gpt_node(parent: str | None, role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    content = {"content_type": more.pop("content_type", "text"), "parts": list(parts)}
    message = {"author": {"role": role}, "content": content, "create_time": 1_700_000_000.5} | more
    return {"parent": parent, "message": message}


def chatgpt() -> dict[str, Any]:
    """A tree with a hidden prompt, an edited question, a picture, and a tool between two pieces of an answer."""
    hidden = {"metadata": {"is_visually_hidden_from_conversation": True}}
    return {
        "title": "Lighthouses",
        "create_time": 1_700_000_000.0,
        "update_time": 1_700_000_900.0,
        "current_node": "end",
        "mapping": {
            "root": {"parent": None, "message": None},
            "system": gpt_node("root", "system", "", **hidden),
            "first": gpt_node("system", "user", "What is a lighthouse?"),
            "told": gpt_node("first", "assistant", "A tower.", metadata={"model_slug": "gpt-4o"}),
            "edited": gpt_node(
                "system",
                "user",
                "What is this?",
                {"content_type": "image_asset_pointer"},
                content_type="multimodal_text",
            ),
            "call": gpt_node("edited", "assistant", "search()", recipient="browser", content_type="code"),
            "result": gpt_node("call", "tool", "12 pages", content_type="tether_quote"),
            "end": gpt_node("result", "assistant", "A lighthouse, too.", metadata={"model_slug": "gpt-4o"}),
        },
    }


def claude() -> dict[str, Any]:
    return {
        "uuid": "c1",
        "name": "Poems",
        "created_at": "2026-01-02T03:04:05.678901Z",
        "updated_at": "2026-01-02T03:05:00Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "Write a poem.",
                "content": [{"type": "text", "text": "Write a poem."}],
                "created_at": "2026-01-02T03:04:06Z",
                "attachments": [{"file_name": "notes.txt", "extracted_content": "Of the sea."}],
                "files": [{"file_name": "sea.png"}],
                "parent_message_uuid": "00000000-0000-4000-8000-000000000000",
            },
            {
                "uuid": "m2",
                "sender": "assistant",
                "text": "",
                "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "The sea."}],
                "created_at": "2026-01-02T03:04:09Z",
                "parent_message_uuid": "m1",
            },
            {
                "uuid": "m3",
                "sender": "assistant",
                "text": "The waves.",
                "created_at": "2026-01-02T03:04:20Z",
                "parent_message_uuid": "m1",
            },
        ],
        "current_leaf_message_uuid": "m2",
    }


def open_webui() -> dict[str, Any]:
    answer = '<details type="reasoning" done="true"><summary>Thought</summary>hm</details>\nFour.'
    messages = {
        "a": {
            "id": "a",
            "parentId": None,
            "childrenIds": ["b"],
            "role": "user",
            "content": "2 + 2?",
            "timestamp": 1_750_000_000,
        },
        "b": {
            "id": "b",
            "parentId": "a",
            "childrenIds": [],
            "role": "assistant",
            "content": answer,
            "model": "qwen3:8b",
        },
    }
    chat = {"title": "Sums", "params": {"system": "Be brief."}, "history": {"messages": messages, "currentId": "b"}}
    return {
        "id": "o1",
        "title": "Sums",
        "chat": chat,
        "created_at": 1_750_000_000,
        "updated_at": 1_750_000_100,
        "pinned": True,
    }


def zipped(files: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", packing) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return sink.getvalue()


def as_bytes(*conversations: Any) -> bytes:
    return json.dumps(list(conversations)).encode()
