"""The decoder on the kernels against the one in PyTorch, for every family and format; and what it promises beyond."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
import torch

from inference.engine.loading import load_engine
from inference.kernels.cpu import cpu_features
from inference.kernels.forms import Form, usable
from inference.kernels.library import Kernels
from inference.modelfiles.errors import ModelFileError
from inference.models.decoder import Chunk, load_decoder
from inference.models.decoders.native_decoder import NativeCache, NativeDecoder
from inference.models.sources.gguf_file import GgufFile
from inference.models.sources.safetensors_folder import SafetensorsFolder
from inference.models.weights.native_weights import obstacle, pack_native
from inference.models.weights.packed_cache import PackedCache
from inference.tokenization.tokenizer import Tokenizer
from tests.environment import KERNELS
from tests.inference.forms import load_form
from tests.inference.models.checkpoints import FAMILIES, VOCAB, write_checkpoint, write_gguf
from tests.inference.models.combinations import combined, pairs
from tests.inference.models.decoders.test_families import run

pytestmark = pytest.mark.slow

IDS = [int(token) for token in np.random.default_rng(3).integers(VOCAB, size=90)]
TOLERANCE = 0.06
"""Of the logits' root mean square: activations are rounded to 8 bits in groups of 32, and a tiny random model averages
little of it out."""
PROMPT_TOLERANCE = 0.09
"""The weights, too, are rounded to 8 bits, both in larger groups; random ones have no outliers to spread."""


FORMATS = ["Q8_0", "Q4_0", "Q4_1"]
USABLE = usable(cpu_features())


class References:
    """Models of every family in every format, each written once, with the PyTorch decoder's logits."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._logits: dict[Path, np.ndarray] = {}

    def folder(self, family: str) -> SafetensorsFolder:
        folder = self._directory / family
        if not folder.exists():
            write_checkpoint(folder, family)
        return SafetensorsFolder(folder)

    def path(self, family: str, quantization: str) -> Path:
        path = self._directory / f"{family}-{quantization}.gguf"
        return path if path.exists() else write_gguf(path, self.folder(family), quantization)

    def logits(self, path: Path) -> np.ndarray:
        if path not in self._logits:
            self._logits[path] = run(load_decoder(GgufFile(path), dtype=torch.float32))
        return self._logits[path]


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> References:
    return References(tmp_path_factory.mktemp("references"))


def load(path: Path, kernels: Kernels) -> NativeDecoder:
    source = GgufFile(path)
    assert obstacle(source) is None
    return NativeDecoder(source.config, pack_native(source, lambda _share: None, kernels.has_prompt_form), kernels)


@pytest.fixture(scope="module")
def llama_path(references: References) -> Path:
    return references.path("llama", "Q4_1")


@pytest.fixture(scope="module")
def llama(each_form: Kernels, llama_path: Path) -> NativeDecoder:
    return load(llama_path, each_form)


@pytest.mark.parametrize(
    ("family", "quantization", "form"),
    combined(list(FAMILIES), FORMATS, USABLE),
    ids=lambda value: value.label if isinstance(value, Form) else value,
)
def test_logits_are_those_of_the_torch_decoder(
    references: References, family: str, quantization: str, form: Form
) -> None:
    path = references.path(family, quantization)
    expected = references.logits(path)
    with closing(load_form(form)) as kernels:
        decoder = load(path, kernels)
        for is_prompt, tolerance in ((False, TOLERANCE), (True, PROMPT_TOLERANCE)):
            assert rms(step_by_step(decoder, is_prompt) - expected) < tolerance * rms(expected)


def test_each_two_of_family_format_and_form_meet() -> None:
    axes = (list(FAMILIES), FORMATS, USABLE)
    met = pairs(*axes)
    for one, other in combinations(range(3), 2):
        assert {(each[one], each[other]) for each in met} == set(product(axes[one], axes[other]))


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def step_by_step(decoder: NativeDecoder, is_prompt: bool = False) -> np.ndarray:
    """As test_families.run."""
    kv, table = decoder.build_cache(8), [5, 1, 7, 0, 2, 6]
    rows = [decoder.forward([Chunk(IDS[:33], 0, table, 33, is_prompt)], kv).copy()]
    rows += [decoder.forward([Chunk(IDS[33:70], 33, table, 37, is_prompt)], kv).copy()]
    rows += [decoder.forward([Chunk([IDS[n]], n, table, 1, is_prompt)], kv).copy() for n in range(70, len(IDS))]
    return np.concatenate(rows)


_WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from pathlib import Path
from inference.engine.loading import load_engine
from inference.kernels.choice import find_kernels
load_engine(Path(sys.argv[1]), 1, None, kernels=find_kernels(Path(sys.argv[2]), 1))
"""


def test_a_quantised_model_is_loaded_without_torch(kernels: Kernels, model_path: Path) -> None:
    """It takes a second of every start, and 200 MB."""
    subprocess.run([sys.executable, "-c", _WITHOUT_TORCH, model_path, KERNELS], check=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_whose_weights_are_not_quantised_is_left_to_torch_which_is_told(
    references: References, kernels: Kernels, family: str
) -> None:
    told: list[str] = []
    assert "PyTorch" in load_decoder(references.folder(family), kernels=kernels, on_torch=told.append).compute
    assert told == ["its weights are not quantised. Set SIGHTGLASS_MODEL to a quantised GGUF file"]


def whole(decoder: NativeDecoder, kv: NativeCache, table: list[int], is_prompt: bool = False) -> np.ndarray:
    return decoder.forward([Chunk(IDS, 0, table, len(IDS), is_prompt)], kv).copy()


def test_weights_that_are_kept_in_a_file_give_the_same_results_bit_by_bit(
    llama: NativeDecoder, each_form: Kernels, llama_path: Path, tmp_path: Path
) -> None:
    """Prompts' tiles are then read where the file is mapped, and the others are copied from it."""
    for _ in ("packed", "read again"):
        kept = load_decoder(GgufFile(llama_path), cache=PackedCache(tmp_path), kernels=each_form)
        for is_prompt in (False, True):
            assert np.array_equal(step_by_step(kept, is_prompt), step_by_step(llama, is_prompt))


@pytest.mark.parametrize("is_prompt", [False, True])
def test_results_are_the_same_bit_by_bit_in_chunks_of_any_size(llama: NativeDecoder, is_prompt: bool) -> None:
    expected = whole(llama, llama.build_cache(8), [0, 1, 2, 3, 4, 5], is_prompt)
    assert np.array_equal(step_by_step(llama, is_prompt), expected)


@pytest.mark.parametrize("is_prompt", [False, True])
def test_results_are_the_same_bit_by_bit_alone_and_in_a_batch(llama: NativeDecoder, is_prompt: bool) -> None:
    kv, generator = llama.build_cache(64), np.random.default_rng(5)
    alone = whole(llama, llama.build_cache(8), [0, 1, 2, 3, 4, 5], is_prompt)
    others = [
        Chunk([int(token) for token in generator.integers(VOCAB, size=size)], 0, list(range(at, at + 3)), 1, size > 16)
        for at, size in zip(range(10, 60, 4), [1, 2, 7, 16, 17, 31, 32, 33, 40, 1, 9, 48], strict=False)
    ]
    batch = [*others[:5], Chunk(IDS, 0, [0, 1, 2, 3, 4, 5], len(IDS), is_prompt), *others[5:]]
    assert np.array_equal(llama.forward(batch, kv)[5 : 5 + len(IDS)], alone)


def test_a_prompt_has_a_form_of_its_own_where_that_is_faster(llama: NativeDecoder, each_form: Kernels) -> None:
    decoded, prompt = (whole(llama, llama.build_cache(8), [0, 1, 2, 3, 4, 5], is_prompt) for is_prompt in (False, True))
    if each_form.has_prompt_form:
        assert 0 < rms(decoded - prompt) < PROMPT_TOLERANCE * rms(decoded)
    else:
        assert np.array_equal(decoded, prompt)


def test_without_that_form_a_prompt_is_computed_as_an_answer_is(
    llama: NativeDecoder, llama_path: Path, each_form: Kernels
) -> None:
    bitwise = load_decoder(GgufFile(llama_path), kernels=each_form, is_bitwise=True)
    assert isinstance(bitwise, NativeDecoder)
    prompt = whole(bitwise, bitwise.build_cache(8), [0, 1, 2, 3, 4, 5], is_prompt=True)
    assert np.array_equal(prompt, whole(llama, llama.build_cache(8), [0, 1, 2, 3, 4, 5]))


def test_sequences_may_share_blocks_that_they_read(llama: NativeDecoder) -> None:
    kv = llama.build_cache(16)
    expected = whole(llama, kv, [0, 1, 2, 3, 4, 5])
    kv.copy_block(4, 9)
    forks = [Chunk(IDS[70:], 70, [0, 1, 2, 3, 4, 6], 20), Chunk(IDS[70:], 70, [0, 1, 2, 3, 9, 7], 20)]
    rows = llama.forward(forks, kv)
    assert np.array_equal(rows[:20], expected[70:])
    assert np.array_equal(rows[20:], expected[70:])


def test_what_lies_in_a_block_from_before_does_not_matter(llama: NativeDecoder) -> None:
    kv = llama.build_cache(8)
    expected = whole(llama, llama.build_cache(8), [0, 1, 2, 3, 4, 5])
    kv.memory[:] = 0xFF  # NaN in bfloat16
    rows = [llama.forward([Chunk([IDS[n]], n, [0, 1, 2, 3, 4, 5])], kv).copy() for n in range(len(IDS))]
    assert np.array_equal(np.concatenate(rows), expected)


def test_nan_stays_in_its_sequence(llama: NativeDecoder) -> None:
    kv = llama.build_cache(16)
    expected = whole(llama, kv, [0, 1, 2, 3, 4, 5])
    kv.memory[8] = 0xFF
    sick, sound = Chunk(IDS[16:18], 16, [8, 9], 2), Chunk(IDS[88:], 88, [0, 1, 2, 3, 4, 5], 2)
    rows = llama.forward([sick, sound], kv)
    assert np.isnan(rows[:2]).all()
    assert np.array_equal(rows[2:], expected[88:])


def test_compute_names_the_formats_and_the_instructions(llama: NativeDecoder, each_form: Kernels) -> None:
    assert llama.compute.startswith("int4 in groups of 32")
    assert each_form.label in llama.compute


def test_a_draft_model_must_have_as_many_embeddings(
    llama_path: Path, kernels: Kernels, model_path: Path, tokenizer: Tokenizer
) -> None:
    with pytest.raises(ModelFileError, match=f"{VOCAB} tokens.*as many"):
        load_engine(model_path, 1, tokenizer, kernels=kernels, draft_path=llama_path)
