"""What is kept is what was built; damage, other files and a full folder only cost a build."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from inference.models.decoder import Chunk, load_decoder
from inference.models.decoders.kv_cache import KVCache
from inference.models.sources.gguf_file import GgufFile
from inference.models.weights.packed_cache import HUGE_PAGE, PackedCache, is_mapped, let_go, source_key
from tests.inference.models.tiny_gguf import write_tiny

ARRAYS = {"a": np.arange(70, dtype=np.int8).reshape(7, 10), "b": np.linspace(0, 1, 33, dtype=np.float32)}


class Builder:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.num_builds = 0

    def __call__(self) -> dict[str, np.ndarray]:
        self.num_builds += 1
        return ARRAYS


def assert_equal(actual: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert actual.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(actual[name], array, strict=True)


_DTYPES = st.sampled_from([np.int8, np.uint8, np.uint16, np.float16, np.float32, np.int32])


@settings(max_examples=20)
@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8),
        _DTYPES.flatmap(lambda kind: arrays_of.arrays(kind, arrays_of.array_shapes(max_side=5))),
        max_size=4,
    )
)
def test_what_is_read_is_what_was_built(tmp_path_factory: pytest.TempPathFactory, built: dict[str, np.ndarray]) -> None:
    cache = PackedCache(tmp_path_factory.mktemp("cache"))
    assert_equal(cache.load_or_build("key", lambda: built), built)
    assert_equal(cache.load_or_build("key", lambda: pytest.fail("built again")), built)


def test_arrays_just_built_are_mapped_as_those_of_an_earlier_start(tmp_path: Path) -> None:
    for _ in ("built", "read"):
        assert all(is_mapped(array) for array in PackedCache(tmp_path).load_or_build("key", Builder()).values())


def test_an_array_larger_than_a_huge_page_is_kept_whole(tmp_path: Path) -> None:
    built = {"small": np.arange(9, dtype=np.int8), "large": np.arange(HUGE_PAGE, dtype=np.int32), "last": np.ones(3)}
    assert_equal(PackedCache(tmp_path).load_or_build("key", lambda: built), built)


def test_writing_to_an_array_leaves_the_file_alone(tmp_path: Path) -> None:
    cache = PackedCache(tmp_path)
    cache.load_or_build("key", Builder())
    cache.load_or_build("key", Builder())["a"][:] = 0
    assert_equal(cache.load_or_build("key", Builder()), ARRAYS)


def test_an_array_let_go_takes_no_memory_and_is_read_again(tmp_path: Path) -> None:
    arrays = {name: np.arange(2_000_000, dtype=np.int64) + shift for shift, name in enumerate("ab")}
    for _ in range(2):  # built, then mapped
        found = PackedCache(tmp_path).load_or_build("key", lambda: arrays)
        assert_equal(found, arrays)
        before = resident_bytes()
        for array in found.values():
            let_go(array)
    assert before - resident_bytes() > 30_000_000
    assert_equal(found, arrays)


def resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:20],
        lambda data: data[:-1],
        lambda data: b"X" + data[1:],
        lambda data: data[:60] + b"\0" + data[61:],
        lambda data: data + b"\0",
        lambda data: data[:40] + b"\xff" * 8 + data[48:],
    ],
)
def test_a_damaged_file_is_built_again(tmp_path: Path, damage: object) -> None:
    cache, build = PackedCache(tmp_path), Builder()
    cache.load_or_build("key", build)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    for _ in range(2):
        assert_equal(cache.load_or_build("key", build), ARRAYS)
    assert build.num_builds == 2


def test_the_one_used_longest_ago_goes_when_the_folder_is_full(tmp_path: Path) -> None:
    probe = PackedCache(tmp_path / "probe")
    probe.load_or_build("key", Builder())
    size = next((tmp_path / "probe").iterdir()).stat().st_size
    cache, builders = PackedCache(tmp_path / "cache", max_bytes=2 * size), {name: Builder() for name in "abc"}
    for age, name in enumerate("ab"):
        cache.load_or_build(name, builders[name])
        newest = max((tmp_path / "cache").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, ns=(age, age))
    cache.load_or_build("a", builders["a"])  # used again, so b is the oldest
    cache.load_or_build("c", builders["c"])
    for name in "acb":
        cache.load_or_build(name, builders[name])
    assert [builders[name].num_builds for name in "abc"] == [1, 2, 1]


def used_at(folder: Path, second: int) -> None:
    """Make the newest file one that was last used then."""
    os.utime(max(folder.glob("*.weights"), key=lambda path: path.stat().st_mtime_ns), (second, second))


def test_two_forms_of_a_model_stay_those_used_last(tmp_path: Path) -> None:
    """Two workers with different forms share one folder; a third form takes the place of the one used longest ago."""
    cache, builders = PackedCache(tmp_path), {form: Builder() for form in ("avx512", "avx2", "torch")}
    for second, form in enumerate(builders):
        cache.load_or_build(f"{form}\nmodel", builders[form])
        used_at(tmp_path, second)
    for form in ("avx2", "torch"):
        cache.load_or_build(f"{form}\nmodel", builders[form])
    assert {form: builder.num_builds for form, builder in builders.items()} == dict.fromkeys(builders, 1)
    assert len(list(tmp_path.iterdir())) == 2
    cache.load_or_build("avx512\nmodel", builders["avx512"])
    assert builders["avx512"].num_builds == 2


def test_a_form_in_use_again_is_not_the_one_that_goes(tmp_path: Path) -> None:
    cache, first = PackedCache(tmp_path), Builder()
    cache.load_or_build("first\nmodel", first)
    used_at(tmp_path, 1)
    cache.load_or_build("second\nmodel", Builder())
    used_at(tmp_path, 2)
    cache.load_or_build("first\nmodel", first)
    cache.load_or_build("third\nmodel", Builder())
    cache.load_or_build("first\nmodel", first)
    assert first.num_builds == 1


def test_the_forms_of_other_models_stay(tmp_path: Path) -> None:
    cache, builders = PackedCache(tmp_path), [Builder() for _ in range(5)]
    for _ in range(2):
        for number, builder in enumerate(builders):
            cache.load_or_build(f"form\nmodel {number}", builder)
    assert [builder.num_builds for builder in builders] == [1] * 5


def test_a_file_that_goes_stays_whole_for_the_worker_that_maps_it(tmp_path: Path) -> None:
    cache = PackedCache(tmp_path)
    mapped = cache.load_or_build("first\nmodel", Builder())
    used_at(tmp_path, 1)
    for form in ("second", "third"):
        cache.load_or_build(f"{form}\nmodel", Builder())
    assert len(list(tmp_path.iterdir())) == 2
    assert_equal(mapped, ARRAYS)


def test_a_file_of_an_earlier_version_is_removed(tmp_path: Path) -> None:
    (tmp_path / f"{'0' * 32}.weights").write_bytes(b"packed")
    PackedCache(tmp_path).load_or_build("form\nmodel", Builder())
    assert len(list(tmp_path.iterdir())) == 1


def test_what_a_dead_builder_left_is_removed_and_a_folder_that_cannot_be_made_costs_only_time(tmp_path: Path) -> None:
    for name in ("dead.tmp", "alive.tmp"):
        (tmp_path / name).write_bytes(b"half")
    os.utime(tmp_path / "dead.tmp", (1, 1))
    PackedCache(tmp_path).load_or_build("key", Builder())
    assert [path.name for path in tmp_path.glob("*.tmp")] == ["alive.tmp"]
    (tmp_path / "file").write_text("")
    assert_equal(PackedCache(tmp_path / "file" / "cache").load_or_build("key", Builder()), ARRAYS)


def test_another_file_or_form_has_another_key(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "tiny.gguf")
    first = source_key(GgufFile(path), "form")
    assert source_key(GgufFile(path), "form") == first
    assert source_key(GgufFile(path), "other") != first
    os.utime(path, ns=(1, 1))
    assert source_key(GgufFile(path), "form") != first


@pytest.mark.parametrize("quantization", ["F32", "BF16", "Q4_1"])
def test_a_decoder_from_the_cache_computes_the_same(tmp_path: Path, quantization: str) -> None:
    source, cache = GgufFile(write_tiny(tmp_path / "tiny.gguf", quantization)), PackedCache(tmp_path / "cache")
    logits, progress = [], []
    for _ in range(2):
        shares: list[float] = []
        decoder = load_decoder(source, shares.append, cache)
        progress.append(shares)
        logits.append(decoder.forward([Chunk([1, 2, 3], 0, [0])], KVCache(decoder.config, 1)))
    np.testing.assert_array_equal(*logits)
    assert progress[0] == sorted(progress[0])
    assert len(progress[0]) == source.config.num_layers + 1
    assert progress[1] == [1.0]
