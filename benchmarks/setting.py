"""What all comparisons share: the model, the number of threads, the text of the prompts. Knows nothing of engines."""

from __future__ import annotations

from functools import cache

from inference.models.blocks import BLOCK_SIZE, block_bytes
from inference.models.config import ModelConfig
from inference.models.sources.gguf_file import GgufFile
from inference.tokenization.bundled import bundled_model
from inference.tokenization.gguf_metadata import read_metadata
from inference.tokenization.tokenizer import Tokenizer

MODEL = bundled_model()
NUM_THREADS = 2
NUM_CANDIDATES = 20
TEXT = "The old lighthouse keeper counted forty-two ships that night, and wrote each name into his book. "


@cache
def tokenizer() -> Tokenizer:
    """The bundled model's tokenizer."""
    return Tokenizer(read_metadata(MODEL))


def prompt(num_tokens: int) -> list[int]:
    """The text again and again, cut to this many tokens."""
    ids = tokenizer().encode(TEXT)
    return (ids * (num_tokens // len(ids) + 1))[:num_tokens]


@cache
def config() -> ModelConfig:
    """The bundled model's shape."""
    return GgufFile(MODEL).config


def kv_bytes_per_token() -> int:
    """Keys and values of all layers, 2 bytes a number."""
    return block_bytes(config()) // BLOCK_SIZE
