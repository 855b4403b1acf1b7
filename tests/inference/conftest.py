"""What several of these tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inference.kernels.choice import find_kernels
from inference.kernels.forms import FORMS
from inference.kernels.library import Kernels
from inference.models.weights.packed_cache import PackedCache
from inference.safety import Guard, load_guard
from inference.tokenization.tokenizer import Tokenizer
from tests.environment import KERNELS, WEIGHTS
from tests.inference.forms import load_form
from tests.inference.models.tiny_gguf import write_with_words


@pytest.fixture(scope="session")
def kernels() -> Kernels:
    """The best form that this machine has, on two threads, so that what they share is tested."""
    found = find_kernels(KERNELS, 2)
    if found is None:
        pytest.skip("no kernels here")
    return found


@pytest.fixture(scope="module", params=FORMS, ids=lambda form: form.label)
def each_form(request: pytest.FixtureRequest) -> Iterator[Kernels]:
    """Every form that this CPU has in turn."""
    kernels = load_form(request.param)
    yield kernels
    kernels.close()


@pytest.fixture(scope="session")
def weights() -> PackedCache:
    """Of the bundled model, packed once for all tests that load it."""
    return PackedCache(WEIGHTS)


@pytest.fixture(scope="session")
def tiny_path(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two layers that speaks in the bundled model's tokens, for tests that judge no words."""
    return write_with_words(tmp_path_factory.mktemp("tiny") / "words.gguf", tokenizer)


@pytest.fixture(scope="session")
def guard() -> Guard:
    """Shared, because the classifier takes a second to load."""
    return load_guard()
