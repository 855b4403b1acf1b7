"""Damaged and hostile model files: refused in one line that says what to do, before anything large is allocated."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inference.models.decoder import load_decoder
from inference.models.sources.source import ModelFileError, open_model
from tests.inference.models.checkpoints import write_checkpoint
from tests.inference.models.tiny_gguf import write_tiny


def gguf(num_tensors: int, num_fields: int, body: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, num_tensors, num_fields) + body


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def tensor(name: bytes, sizes: list[int], kind: int = 0, start: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, start)


HEADERS: dict[str, bytes] = {
    "empty": b"",
    "wrong magic": b"GGML" + bytes(100),
    "a version of the future": b"GGUF" + struct.pack("<IQQ", 9, 0, 0),
    "as many tensors as atoms": gguf(2**63, 0, b""),
    "as many fields as atoms": gguf(0, 2**63, b""),
    "a name of terabytes": gguf(0, 1, struct.pack("<Q", 2**42) + b"name"),
    "a name that is not text": gguf(0, 1, text(b"\xff\xfe") + struct.pack("<IB", 0, 1)),
    "a value of no type": gguf(0, 1, text(b"name") + struct.pack("<I", 77)),
    "a list of terabytes": gguf(0, 1, text(b"name") + struct.pack("<IIQ", 9, 10, 2**40)),
    "a list of lists": gguf(0, 1, text(b"name") + struct.pack("<IIQ", 9, 9, 1)),
    "a list longer than the file": gguf(0, 1, text(b"name") + struct.pack("<IIQ", 9, 8, 1_999_999)),
    "a field twice": gguf(0, 2, (text(b"name") + struct.pack("<IB", 0, 1)) * 2),
    "no alignment": gguf(0, 1, text(b"general.alignment") + struct.pack("<II", 4, 0)),
    "a tensor of no size": gguf(1, 0, tensor(b"t", [0, 4])),
    "a tensor of exabytes": gguf(1, 0, tensor(b"t", [2**40, 2**40])),
    "a tensor of a hundred dimensions": gguf(1, 0, text(b"t") + struct.pack("<I", 100) + bytes(900)),
    "a tensor twice": gguf(2, 0, tensor(b"t", [4]) * 2),
    "rows that blocks do not fill": gguf(1, 0, tensor(b"t", [33], kind=3)),
    "tensors beyond the end": gguf(1, 0, tensor(b"t", [64], start=2**50)),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_hostile_header_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(HEADERS[name])
    assert_refused(path)


def assert_refused(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        load_decoder(open_model(path))
    said = str(caught.value)
    assert "\n" not in said
    assert str(path) in said
    assert any(advice in said for advice in ("download it again", "choose another model", "use one of")), said
    return said


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf", "Q4_1").read_bytes()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_bytes_changed_give_a_model_or_a_refusal(tmp_path: Path, tiny: bytes, data: st.DataObject) -> None:
    content = bytearray(tiny)
    header = content.index(b"output_norm.weight") + 2000
    for place in data.draw(st.lists(st.integers(0, header), min_size=1, max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    try:
        open_model(path)
    except ModelFileError as error:
        assert "\n" not in str(error)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "model", "llama", shard="200KB").folder


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


INDEX = "model.safetensors.index.json"


def test_a_sharded_folder_is_read(folder: Path) -> None:
    assert len(list(folder.glob("*.safetensors"))) > 1
    load_decoder(open_model(folder))


@pytest.mark.parametrize(
    ("name", "content"),
    [("config.json", "{"), ("config.json", "[]"), ("config.json", "[" * 100_000), (INDEX, "{}"), (INDEX, "nothing")],
)
def test_a_damaged_json_file_is_named(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content)
    assert name in assert_refused(folder)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"model_type": "mamba"}, "model_type mamba is not supported; use one of: llama"),
        ({"model_type": 5}, "must be text"),
        ({"hidden_size": "wide"}, "must be a number"),
        ({"hidden_size": 2**40}, "a dimension out of"),
        ({"num_hidden_layers": 10**9}, "1000000000 layers"),
        ({"num_hidden_layers": 3}, "blk.2"),
        ({"num_attention_heads": 0}, "a dimension out of"),
        ({"vocab_size": 7}, "token_embd.weight has shape"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}, "rope_type yarn is not supported"),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}}, "no low_freq_factor"),
        ({"rope_parameters": "none"}, "rope parameters"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantization_config"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"hidden_act": "relu"}, "hidden_act = relu"),
    ],
)
def test_a_config_that_no_decoder_can_have_is_named(folder: Path, values: dict[str, Any], words: str) -> None:
    change(folder / "config.json", **values)
    with pytest.raises(ModelFileError) as caught:
        open_model(folder)
    assert words in str(caught.value)


def test_a_shard_that_is_missing_cut_or_outside_is_named(folder: Path) -> None:
    first, second, *_ = sorted(folder.glob("*.safetensors"))
    change(folder / INDEX, weight_map={"model.norm.weight": "../model.safetensors"})
    assert "is not there" in assert_refused(folder)
    change(folder / INDEX, weight_map={"model.norm.weight": first.name, "model.lost.weight": second.name})
    assert "model.lost.weight" in assert_refused(folder)
    first.write_bytes(first.read_bytes()[:-10])
    assert first.name in _said(folder)
    first.write_bytes(struct.pack("<Q", 2**60) + b"{}")
    assert first.name in _said(folder)
    first.unlink()
    assert "is not there" in assert_refused(folder)


def _said(folder: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        open_model(folder)
    return str(caught.value)


def test_pickles_are_never_read(folder: Path) -> None:
    for path in [*folder.glob("*.safetensors"), folder / INDEX]:
        path.unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    assert "other kinds of weights are not read" in assert_refused(folder)
