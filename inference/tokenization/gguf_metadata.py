"""Reads the metadata for tokenizer and chat template from a model file. Knows nothing of tokenization.

GGUF: tokenizer.ggml.* and tokenizer.chat_template (ggml, docs/gguf.md). A Hugging Face folder: tokenizer.json,
tokenizer_config.json, chat_template.jinja, config.json and generation_config.json, as transformers writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inference.modelfiles.errors import ModelFileError
from inference.modelfiles.fields import Fields
from inference.modelfiles.gguf_header import read_header
from inference.modelfiles.json_file import read_json

_MAX_TEMPLATE_BYTES = 512 << 10
"""More than the longest template that is taken."""


class TokenizerError(Exception):
    """The file's tokenizer is missing, damaged or of a kind that we cannot rebuild."""


@dataclass(frozen=True)
class Metadata:
    """A model file's data for the tokenizer and the chat template."""

    name: str
    architecture: str
    context_length: int
    num_embeddings: int
    """Rows of the model's embedding. A padded vocabulary has more rows than tokens. One with tokens that the model
    never learnt has fewer."""
    model: str
    """gpt2: byte-level BPE; llama: SentencePiece's."""
    pre: str
    tokens: tuple[str, ...]
    token_types: tuple[int, ...]
    merges: tuple[str, ...]
    eos_id: int
    bos_id: int
    chat_template: str | None
    scores: tuple[float, ...] = ()
    add_space_prefix: bool = False
    begins_with_bos: bool = False
    """The model file wants the beginning token before a text without a chat template."""
    more_eos_ids: tuple[int, ...] = ()
    """Ids besides eos_id that end an answer."""
    tokenizer_json: str | None = None
    """The file's own tokenizer.json; then merges, scores and pre are not needed."""


def read_metadata(path: Path) -> Metadata:
    """Read the metadata of a GGUF file or a Hugging Face folder. Raises TokenizerError."""
    try:
        return _read_folder(path) if path.is_dir() else _read_gguf(path)
    except ModelFileError as error:
        raise TokenizerError(str(error)) from error


def _read_gguf(path: Path) -> Metadata:
    header = read_header(path, lambda _: True)
    fields, embedding = header.fields, header.tensors.get("token_embd.weight")

    def need(name: str) -> Any:
        if name not in fields:
            raise TokenizerError(f"{path}: the metadata has no {name}; use a GGUF file that carries its tokenizer")
        return fields[name]

    def texts(name: str) -> tuple[str, ...]:
        return _listed(path, name, need(name), str)

    numbers = Fields(path, fields)
    architecture, model = numbers.text("general.architecture"), need("tokenizer.ggml.model")
    is_plain = model == "llama"
    tokens = texts("tokenizer.ggml.tokens")
    metadata = Metadata(
        name=str(fields.get("general.name", path.stem)),
        architecture=architecture,
        context_length=numbers.count(f"{architecture}.context_length"),
        num_embeddings=len(tokens) if embedding is None else embedding.shape[0],
        model=str(model),
        pre=str(fields.get("tokenizer.ggml.pre", "default")),
        tokens=tokens,
        token_types=_listed(path, "tokenizer.ggml.token_type", need("tokenizer.ggml.token_type"), int),
        merges=() if is_plain else texts("tokenizer.ggml.merges"),
        scores=_listed(path, "tokenizer.ggml.scores", need("tokenizer.ggml.scores"), float) if is_plain else (),
        add_space_prefix=is_plain and fields.get("tokenizer.ggml.add_space_prefix", True) is True,
        eos_id=numbers.count("tokenizer.ggml.eos_token_id"),
        bos_id=numbers.count("tokenizer.ggml.bos_token_id", -1),
        begins_with_bos=fields.get("tokenizer.ggml.add_bos_token") is True,
        chat_template=numbers.text(template) if (template := "tokenizer.chat_template") in fields else None,
    )
    for name, values in (("token_type", metadata.token_types), ("scores", metadata.scores or tokens)):
        if len(values) != len(tokens):
            raise TokenizerError(
                f"{path}: {len(tokens)} tokens have {len(values)} entries in {name}; download it again"
            )
    return metadata


def _listed(path: Path, name: str, values: Any, kind: type[Any]) -> tuple[Any, ...]:
    if not isinstance(values, list) or not all(type(value) is kind for value in values):
        raise TokenizerError(f"{path}: {name} is not a list of {kind.__name__}; download the file again")
    return tuple(values)


def _read_folder(path: Path) -> Metadata:
    from inference.tokenization.vocabularies import read_json_vocabulary

    config = read_json(path / "config.json")
    options = read_json(path / "tokenizer_config.json") if (path / "tokenizer_config.json").is_file() else {}
    read_json(path / "tokenizer.json")  # its size and form
    text = (path / "tokenizer.json").read_text("utf-8")
    tokens, kinds, model = read_json_vocabulary(text)
    bos, eos = _token_id(options, "bos_token", tokens), _token_id(options, "eos_token", tokens)
    ends = _ids(config) + (
        _ids(read_json(generation)) if (generation := path / "generation_config.json").is_file() else []
    )
    if eos is None and not ends:
        raise TokenizerError(f"{path}: no eos_token in tokenizer_config.json nor eos_token_id in config.json; add one")
    numbers = Fields(path / "config.json", config)
    return Metadata(
        name=path.name,
        architecture=str(config.get("model_type", "")),
        context_length=numbers.count("max_position_embeddings"),
        num_embeddings=numbers.count("vocab_size", len(tokens)),
        model=model,
        pre="",
        tokens=tuple(tokens),
        token_types=tuple(kinds),
        merges=(),
        eos_id=ends[0] if eos is None else eos,
        bos_id=-1 if bos is None else bos,
        begins_with_bos=options.get("add_bos_token") is True,
        more_eos_ids=tuple(ends),
        chat_template=_chat_template(path, options),
        tokenizer_json=text,
    )


def _ids(config: dict[str, Any]) -> list[int]:
    value = config.get("eos_token_id")
    return [token for token in (value if isinstance(value, list) else [value]) if isinstance(token, int)]


def _token_id(options: dict[str, Any], name: str, tokens: list[str]) -> int | None:
    value = options.get(name)
    text = value.get("content") if isinstance(value, dict) else value
    return tokens.index(text) if text in tokens else None


def _chat_template(path: Path, options: dict[str, Any]) -> str | None:
    """Return the template: chat_template.jinja before tokenizer_config.json; of several named ones the default."""
    if (own := path / "chat_template.jinja").is_file():
        if own.stat().st_size > _MAX_TEMPLATE_BYTES:
            raise TokenizerError(f"{own} has more than {_MAX_TEMPLATE_BYTES >> 10} KiB; use another model")
        try:
            return own.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise TokenizerError(f"{own} is not text; download it again ({error})") from error
    value = options.get("chat_template")
    if isinstance(value, list):
        named = {str(entry.get("name")): entry.get("template") for entry in value if isinstance(entry, dict)}
        value = named.get("default")
    return value if isinstance(value, str) else None
