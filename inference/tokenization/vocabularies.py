"""The encoders of each kind of vocabulary, rebuilt with the tokenizers library. Knows nothing of chat templates.

Three kinds: byte-level BPE from GGUF (tokenizer.ggml.model = gpt2), SentencePiece's BPE from GGUF (= llama), and a
Hugging Face tokenizer.json unchanged. Each encoder gives llama.cpp's ids, in Python and in the browser. The
pre-tokenizers' patterns are those of the models' training (GPT-2, Llama 3, Qwen2).
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from inference.tokenization.gguf_metadata import Metadata, TokenizerError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
"""tokenizer.ggml.token_type. Typed text is first searched for user-defined tokens, and never for control tokens."""

_SPACE = "▁"
_MAX_PIECE_CHARS = 256
"""Longer tokens are never merged from parts: no vocabulary needs it, and trying every split is quadratic."""

_LETTERS = (
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|NUMBER"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_PATTERNS = {"llama-bpe": _LETTERS.replace("NUMBER", r"\p{N}{1,3}"), "qwen2": _LETTERS.replace("NUMBER", r"\p{N}")}
_SAME_AS = {
    "llama3": "llama-bpe",
    "llama-v3": "llama-bpe",
    "deepseek-r1-qwen": "qwen2",
    **dict.fromkeys(["starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"], "smollm"),
}
"""Names in tokenizer.ggml.pre that llama.cpp treats as the same."""
PRE_TOKENIZERS = ("smollm", *_PATTERNS)


def build_encoder(metadata: Metadata) -> Tokenizer:
    """Build the encoder for the metadata's kind of vocabulary. Raises TokenizerError."""
    if metadata.tokenizer_json is not None:
        encoder = _from_json(metadata.tokenizer_json)
    elif metadata.model == "gpt2" and metadata.merges:
        encoder = _byte_level(metadata)
    elif metadata.model == "llama" and metadata.scores:
        encoder = _sentencepiece(metadata)
    else:
        advice = "use a model file that carries them"
        raise TokenizerError(f"tokenizer model {metadata.model!r} without merges or scores cannot be rebuilt; {advice}")
    encoder.encode_special_tokens = True
    return encoder


def build_pieces(metadata: Metadata) -> list[bytes]:
    """Return each token's bytes in text; a control token's name. Raises TokenizerError."""
    if metadata.model == "llama":
        return [_plain_piece(token, kind) for token, kind in zip(metadata.tokens, metadata.token_types, strict=True)]
    to_byte = {ord(char): byte for byte, char in byte_alphabet().items()}
    try:
        return [
            token.encode() if kind in (CONTROL, USER_DEFINED) else codecs.charmap_encode(token, "strict", to_byte)[0]
            for token, kind in zip(metadata.tokens, metadata.token_types, strict=True)
        ]
    except UnicodeEncodeError as error:
        char = error.object[error.start]
        raise TokenizerError(f"the vocabulary is not byte-level: it has the character {char!r}") from None


def _plain_piece(token: str, kind: int) -> bytes:
    if kind == BYTE and (found := re.fullmatch(r"<0x([0-9A-Fa-f]{2})>", token)):
        return bytes.fromhex(found[1])
    return token.encode() if kind in (CONTROL, USER_DEFINED) else token.replace(_SPACE, " ").encode()


def _from_json(text: str) -> Tokenizer:
    try:
        encoder = Tokenizer.from_str(text)
    except Exception as error:  # the library has no narrower type
        raise TokenizerError(f"tokenizer.json cannot be read; download it again ({error})") from error
    encoder.no_truncation()
    encoder.no_padding()
    return encoder


def _byte_level(metadata: Metadata) -> Tokenizer:
    name = _SAME_AS.get(metadata.pre, metadata.pre)
    if name not in PRE_TOKENIZERS:
        known = ", ".join(PRE_TOKENIZERS)
        raise TokenizerError(f"pre-tokenizer {metadata.pre!r} is not supported; use a model with one of: {known}")
    vocab = {token: index for index, token in enumerate(metadata.tokens)}
    merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in metadata.merges)]
    # Llama 3's vocabulary has words that no merges produce.
    encoder = _bpe(vocab, merges, byte_fallback=False, ignore_merges=name == "llama-bpe")
    steps: list[pre_tokenizers.PreTokenizer]
    if name == "smollm":
        digits = pre_tokenizers.Split(Regex(r"\p{N}"), "isolated")
        steps = [digits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    else:
        words = pre_tokenizers.Split(Regex(_PATTERNS[name]), "isolated")
        steps = [words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    if missing := "".join(char for char in byte_alphabet().values() if char not in vocab):
        # Dropped here rather than by the model, which would merge the text on both sides of them.
        steps.append(pre_tokenizers.Split(Regex(f"[{re.escape(missing)}]"), "removed"))
    encoder.pre_tokenizer = pre_tokenizers.Sequence(steps)
    encoder.decoder = decoders.ByteLevel()
    _add_tokens(encoder, metadata)
    return encoder


def _sentencepiece(metadata: Metadata) -> Tokenizer:
    """Build SentencePiece's encoder: BPE that first merges the neighbours whose union has the best score."""
    tokens, kinds = metadata.tokens, metadata.token_types
    if sum(kind == BYTE for kind in kinds) != 256:
        raise TokenizerError("the vocabulary lacks tokens for single bytes; use a model file that has all 256")
    scored = sorted(_scored_merges(metadata), key=lambda scored: -scored[0])
    vocab = {token: index for index, token in enumerate(tokens)}
    encoder = _bpe(vocab, [(left, right) for _, left, right in scored], byte_fallback=True, ignore_merges=False)
    spaces: list[normalizers.Normalizer] = [normalizers.Replace(" ", _SPACE)]
    if metadata.add_space_prefix:
        spaces.insert(0, normalizers.Prepend(_SPACE))
    encoder.normalizer = normalizers.Sequence(spaces)
    encoder.decoder = decoders.Sequence([decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    _add_tokens(encoder, metadata)
    return encoder


def _scored_merges(metadata: Metadata) -> Iterator[tuple[float, str, str]]:
    rows = zip(metadata.tokens, metadata.scores, metadata.token_types, strict=True)
    mergeable = {token: score for token, score, kind in rows if kind == NORMAL}
    for token, score in mergeable.items():
        for cut in range(1, len(token) if len(token) <= _MAX_PIECE_CHARS else 1):
            if (left := token[:cut]) in mergeable and (right := token[cut:]) in mergeable:
                yield score, left, right


def _bpe(vocab: dict[str, int], merges: list[tuple[str, str]], byte_fallback: bool, ignore_merges: bool) -> Tokenizer:
    try:
        return Tokenizer(
            models.BPE(vocab, merges, fuse_unk=False, byte_fallback=byte_fallback, ignore_merges=ignore_merges)
        )
    except Exception as error:  # the library has no narrower type
        raise TokenizerError(f"vocabulary and merges do not fit together: {error}") from error


def _add_tokens(encoder: Tokenizer, metadata: Metadata) -> None:
    def of(kind: int) -> list[AddedToken]:
        names = [
            token for token, own in zip(metadata.tokens, metadata.token_types, strict=True) if own == kind and token
        ]
        return [AddedToken(name, normalized=False, special=kind == CONTROL) for name in names]

    encoder.add_special_tokens(of(CONTROL))
    encoder.add_tokens(of(USER_DEFINED))


def read_json_vocabulary(text: str) -> tuple[list[str], list[int], str]:
    """Return tokenizer.json's tokens, their types, and the model's name in GGUF (gpt2 or llama).

    Raises TokenizerError.
    """
    try:
        document = json.loads(text)
        model, added = document["model"], document["added_tokens"]
        entries = {index: token for token, index in model["vocab"].items()}
        kinds = dict.fromkeys(entries, NORMAL)
        for token in added:
            entries[token["id"]] = token["content"]
            kinds[token["id"]] = CONTROL if token["special"] else USER_DEFINED
        if sorted(entries) != list(range(len(entries))):
            raise ValueError("its ids have gaps")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TokenizerError(f"tokenizer.json is damaged; download it again ({error!r})") from error
    is_plain = bool(model.get("byte_fallback"))
    for index, token in entries.items():
        if is_plain and kinds[index] == NORMAL and re.fullmatch(r"<0x[0-9A-F]{2}>", token):
            kinds[index] = BYTE
    order = range(len(entries))
    return [entries[i] for i in order], [kinds[i] for i in order], "llama" if is_plain else "gpt2"


def byte_alphabet() -> dict[int, str]:
    """Return GPT-2's map of bytes to printable characters: printable Latin-1 to itself, the rest from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + i) for i, byte in enumerate(others)}
