"""What the prefix cache keeps, for whom and for how long; blocks of four letters."""

from __future__ import annotations

import pytest

from inference.engine.scheduling.prefix_cache import LruPrefixCache, NoPrefixCache, PrefixCache, next_key, root_key
from inference.protocol.request import CacheTTL
from tests.inference.engine.fakes import SetClock


def key(text: str, salt: str = "alice", model: str = "m", adapter: str = "") -> bytes:
    """Of the last of the text's blocks."""
    parent = root_key(salt, model, adapter)
    for start in range(0, len(text), 4):
        parent = next_key(parent, [ord(letter) for letter in text[start : start + 4]])
    return parent


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def cache(clock: SetClock) -> LruPrefixCache:
    return LruPrefixCache(clock)


def keep(cache: PrefixCache, text: str, block: int, ttl: CacheTTL = "none") -> None:
    cache.insert(key(text), block, ttl)
    cache.release(block)


def test_a_key_is_of_all_tokens_from_the_start() -> None:
    assert key("ABCDEFGH") == key("ABCDEFGH")
    assert key("ABCDEFGH") != key("XBCDEFGH")
    assert key("EFGH") != key("ABCDEFGH")


def test_principals_models_and_adapters_have_keys_of_their_own() -> None:
    keys = {
        key("ABCD", *root) for root in [("a", "m"), ("b", "m"), ("a", "n"), ("a", "m", "x"), ("am", ""), ("", "am")]
    }
    assert len(keys) == 6


def test_the_longest_known_beginning_is_found(cache: LruPrefixCache) -> None:
    keep(cache, "ABCD", 1)
    keep(cache, "ABCDEFGH", 2)
    assert cache.match([key("ABCD"), key("ABCDEFGH"), key("ABCDEFGHIJKL")]) == [1, 2]
    assert cache.match([key("XBCD"), key("ABCDEFGH")]) == []


@pytest.mark.parametrize("kind", [LruPrefixCache, NoPrefixCache])
def test_what_is_not_kept_is_neither_found_nor_idle(kind: type[LruPrefixCache | NoPrefixCache]) -> None:
    cache = LruPrefixCache(SetClock()) if kind is LruPrefixCache else NoPrefixCache()
    assert cache.release(1) is False
    assert (cache.match([key("ABCD")]), cache.num_idle, cache.idle_blocks(), cache.evict()) == ([], 0, [], None)
    cache.forget(1)


def test_a_block_in_use_is_found_but_not_evicted(cache: LruPrefixCache) -> None:
    assert cache.insert(key("ABCD"), 1, "none") is True
    assert cache.insert(key("ABCD"), 2, "none") is False
    assert cache.match([key("ABCD")]) == [1]
    assert cache.evict() is None
    assert cache.release(1) is True
    assert cache.evict() == 1


def test_the_least_recently_used_goes_first(cache: LruPrefixCache) -> None:
    for block, text in enumerate(["AAAA", "BBBB", "CCCC"]):
        keep(cache, text, block)
    cache.hold(0, "none")
    cache.release(0)
    assert [cache.evict() for _ in range(4)] == [1, 2, 0, None]


def test_a_promise_is_kept_as_long_as_others_can_make_room(cache: LruPrefixCache) -> None:
    keep(cache, "AAAA", 1, "1h")
    keep(cache, "BBBB", 2, "5m")
    keep(cache, "CCCC", 3, "none")
    assert [cache.evict() for _ in range(3)] == [3, 2, 1]


@pytest.mark.parametrize(("ttl", "seconds"), [("5m", 300), ("1h", 3600)])
def test_time_runs_out_and_starts_anew_with_each_use(
    cache: LruPrefixCache, clock: SetClock, ttl: CacheTTL, seconds: int
) -> None:
    keep(cache, "ABCD", 1, ttl)
    for _ in range(2):
        clock.now += seconds - 1
        assert cache.match([key("ABCD")]) == [1]
        cache.hold(1, "none")
        cache.release(1)
    clock.now += seconds
    assert cache.match([key("ABCD")]) == []


def test_what_promises_nothing_is_never_out_of_date(cache: LruPrefixCache, clock: SetClock) -> None:
    keep(cache, "ABCD", 1)
    clock.now += 1e9
    assert cache.match([key("ABCD")]) == [1]


def test_what_is_out_of_date_goes_first(cache: LruPrefixCache, clock: SetClock) -> None:
    keep(cache, "AAAA", 1, "none")
    keep(cache, "BBBB", 2, "5m")
    clock.now += 300
    keep(cache, "CCCC", 3, "none")
    assert cache.evict() == 2


def test_what_is_out_of_date_lives_again_when_it_is_stored_again(cache: LruPrefixCache, clock: SetClock) -> None:
    keep(cache, "ABCD", 1, "1h")
    clock.now += 3600
    assert cache.insert(key("ABCD"), 2, "5m") is True
    assert cache.match([key("ABCD")]) == [1]
    clock.now += 300
    assert cache.match([key("ABCD")]) == []


def test_a_longer_class_lasts(cache: LruPrefixCache, clock: SetClock) -> None:
    keep(cache, "ABCD", 1, "5m")
    cache.hold(1, "1h")
    cache.release(1)
    cache.hold(1, "5m")
    cache.release(1)
    clock.now += 3599
    assert cache.match([key("ABCD")]) == [1]


def test_what_is_forgotten_is_not_kept(cache: LruPrefixCache) -> None:
    cache.insert(key("ABCD"), 1, "none")
    cache.forget(1)
    assert cache.match([key("ABCD")]) == []
    assert cache.release(1) is False


def test_a_block_that_is_gone_is_known_to_have_expired_or_made_room(clock: SetClock, cache: LruPrefixCache) -> None:
    keep(cache, "ABCD", 1, "5m")
    keep(cache, "EFGH", 2)
    clock.now = 301.0
    assert [cache.absence(key(text)) for text in ("ABCD", "WXYZ")] == ["expired", "never"]
    assert [cache.evict(), cache.evict()] == [1, 2]
    assert [cache.absence(key(text)) for text in ("ABCD", "EFGH")] == ["expired", "evicted"]
    keep(cache, "EFGH", 3, "1h")
    cache.evict()
    assert cache.absence(key("EFGH")) == "evicted"


def test_a_block_that_was_evicted_long_ago_is_not_called_never_kept(clock: SetClock) -> None:
    cache = LruPrefixCache(clock, num_remembered=1)
    for block, text in enumerate(("ABCD", "EFGH")):
        keep(cache, text, block)
        assert cache.absence(key("WXYZ")) == "never"
        cache.evict()
    assert [cache.absence(key(text)) for text in ("ABCD", "EFGH", "WXYZ")] == ["unknown", "evicted", "unknown"]


def test_idle_blocks_stand_in_the_order_in_which_they_are_evicted(clock: SetClock, cache: LruPrefixCache) -> None:
    for block, ttl in enumerate(("1h", "none", "5m", "none")):
        keep(cache, f"{block}000", block, ttl)  # type: ignore[arg-type]
    clock.now = 301.0
    order = cache.idle_blocks()
    assert order == [2, 1, 3, 0]
    assert [cache.evict() for _ in order] == order
