from __future__ import annotations

import pytest

from inference.grammar.grammar import Grammars
from inference.tokenization.bundled import bundled_model
from inference.tokenization.gguf_metadata import read_metadata
from inference.tokenization.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer(read_metadata(bundled_model()))


@pytest.fixture(scope="session")
def grammars(tokenizer: Tokenizer) -> Grammars:
    return Grammars(tokenizer)
