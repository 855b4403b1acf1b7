"""The simulated cache: an example worked by hand, and laws for any history."""

from __future__ import annotations

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.request import CacheMark, Usage
from webapp.usage.repricing.records import Group, Read
from webapp.usage.repricing.simulation import Scenario, Simulation

ALICE, BOB = Group("small", 1, None), Group("small", 2, None)
SIZE = 4


def read(prompt: str, at_s: float, answer: str = "", group: Group = ALICE, num_found: int = 0, **given: object) -> Read:
    """A request whose letters are tokens. `|` is a breakpoint of 5 minutes after the system prompt."""
    marks = (CacheMark(num_tokens=prompt.index("|"), ttl="5m"),) if "|" in prompt else ()
    letters = prompt.replace("|", "")
    facts = {
        "group": group,
        "day": date(2026, 11, 1),
        "begun_s": at_s,
        "ended_s": at_s + 1,
        "ids": tuple(map(ord, letters + answer)),
        "num_read": len(letters),
        "block_size": SIZE,
        "num_found": num_found,
        "marks": marks,
        "system_end": marks[0].num_tokens if marks else 0,
        "history_end": max(0, len(letters) - 2),
        "num_output": len(answer),
        "billed_nano": 0,
        "currency": "USD",
    }
    return Read(**(facts | given))  # type: ignore[arg-type]


def run(reads: list[Read], keeps_unpromised: bool = False, **scenario: str) -> list[Usage]:
    simulation = Simulation(Scenario(**scenario), keeps_unpromised)  # type: ignore[arg-type]
    return [simulation.read(each) for each in reads]


MINUTE = 60.0
DAY = [read("ABCDEFGH|IJ", 0), read("ABCDEFGH|KL", 4 * MINUTE), read("ABCDEFGH|MN", 10 * MINUTE)]


def test_the_example_of_the_docstring() -> None:
    written = Usage(uncached_input=2, cache_write_5m=8)
    found = Usage(uncached_input=2, cache_read=8)
    assert run(DAY) == [written, found, written]
    assert run(DAY, ttl="1h") == [Usage(uncached_input=2, cache_write_1h=8), found, found]


def test_without_breakpoints_a_block_counts_as_kept_only_where_it_was_found() -> None:
    fresh = Usage(uncached_input=10)
    assert run(DAY, placement="none") == [fresh, fresh, fresh]
    kept = Usage(uncached_input=2, cache_read=8)
    assert run(DAY, keeps_unpromised=True, placement="none") == [fresh, kept, kept]
    real = [DAY[0], read("ABCDEFGH|KL", 4 * MINUTE, num_found=1)]
    assert run(real, ttl="none")[1] == Usage(uncached_input=6, cache_read=4)


def test_what_was_there_before_the_period_is_found() -> None:
    assert run([read("ABCDEFGH|IJ", 0, num_found=2)]) == [Usage(uncached_input=2, cache_read=8)]


def test_a_cache_is_each_users_own() -> None:
    assert run([DAY[0], read("ABCDEFGH|IJ", 60, group=BOB)])[1] == Usage(uncached_input=2, cache_write_5m=8)


def test_an_answer_is_found_by_the_next_turn_once_it_has_ended() -> None:
    first = read("ABCD|EF", 0, "GHIJ")
    later, meanwhile = (read("ABCDEFGHIJKL|M", at_s) for at_s in (2.0, 0.5))
    assert run([first, later], keeps_unpromised=True)[1].cache_read == 8
    assert run([first, meanwhile], keeps_unpromised=True)[1].cache_read == 4


def test_a_placement_moves_the_breakpoints() -> None:
    (system,) = run([read("ABCD|EFGHIJ", 0)], placement="system")
    (history,) = run([read("ABCD|EFGHIJ", 0)], placement="history")
    (automatic,) = run([read("ABCD|EFGHIJKL", 0)], placement="automatic")
    assert [each.cache_write_5m for each in (system, history, automatic)] == [4, 8, 12]


reads = st.lists(
    st.builds(
        lambda prompt, answer, at_s, group, share: (prompt, answer, at_s, group, share),
        st.text("AB", min_size=1, max_size=20),
        st.text("AB", max_size=9),
        st.integers(0, 5000),
        st.sampled_from([ALICE, BOB]),
        st.floats(0, 1),
    ),
    max_size=12,
).map(
    lambda rows: [
        read(prompt, at_s, answer, group, num_found=int(share * ((len(prompt) - 1) // SIZE)))
        for prompt, answer, at_s, group, share in sorted(rows, key=lambda row: row[2])
    ]
)
scenarios = st.fixed_dictionaries(
    {
        "placement": st.sampled_from(["recorded", "none", "system", "history", "automatic"]),
        "ttl": st.sampled_from(["recorded", "none", "5m", "1h"]),
    }
)


@given(reads, scenarios, st.booleans())
def test_every_token_has_one_price_and_the_last_is_always_computed(
    history: list[Read], scenario: dict[str, str], keeps: bool
) -> None:
    for each, usage in zip(history, run(history, keeps, **scenario), strict=True):
        num = usage.uncached_input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
        assert num == each.num_read and usage.output == each.num_output
        assert usage.cache_read < each.num_read
        assert min(usage.uncached_input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h) >= 0


@given(reads)
def test_without_a_promise_nothing_is_written_and_what_was_found_is_read(history: list[Read]) -> None:
    for each, usage in zip(history, run(history, ttl="none"), strict=True):
        assert usage.cache_write_5m == usage.cache_write_1h == 0
        assert usage.cache_read == each.num_found * SIZE


@given(reads, scenarios)
def test_a_cache_that_keeps_more_reads_no_less(history: list[Read], scenario: dict[str, str]) -> None:
    least, most = run(history, True, **scenario), run(history, False, **scenario)
    assert all(kept.cache_read >= lost.cache_read for kept, lost in zip(least, most, strict=True))


@given(reads)
def test_an_hour_reads_no_less_than_five_minutes(history: list[Read]) -> None:
    hour, minutes = run(history, placement="automatic", ttl="1h"), run(history, placement="automatic", ttl="5m")
    assert all(one.cache_read >= other.cache_read for one, other in zip(hour, minutes, strict=True))
