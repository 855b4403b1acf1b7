from __future__ import annotations

import pytest

from inference.grammar.grammar import Grammars
from inference.tokenization.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def grammars(tokenizer: Tokenizer) -> Grammars:
    return Grammars(tokenizer)
