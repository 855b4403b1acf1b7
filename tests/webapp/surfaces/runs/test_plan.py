"""Every combination runs n times, within limits, and equals the saved request except for the grid's settings."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.request import SamplingParams
from webapp.surfaces.runs.plan import MAX_RUNS, Grid, PlanError, plan
from webapp.surfaces.runs.saved_prompt import first_difference

SAVED = SamplingParams(temperature=0.7, top_k=40, seed=1340, max_tokens=99)
VALUES = st.lists(st.floats(0.1, 1), min_size=0, max_size=3, unique=True).map(tuple)


@given(temperature=VALUES, top_p=VALUES, n=st.integers(1, 7), is_fresh=st.booleans())
def test_each_combination_meets_the_same_seeds(temperature, top_p, n, is_fresh) -> None:  # type: ignore[no-untyped-def]
    seeds = count()
    runs = plan(SAVED, Grid(temperature=temperature, top_p=top_p), n, is_fresh, lambda: next(seeds))
    cells = [runs[start : start + n] for start in range(0, len(runs), n)]
    assert len(cells) == max(1, len(temperature)) * max(1, len(top_p))
    assert len({tuple(cell[0].settings.items()) for cell in cells}) == len(cells)
    for cell in cells:
        assert [run.params.seed for run in cell] == (list(range(n)) if is_fresh else [1340] * n)
        assert all(run.settings == cell[0].settings for run in cell)
    for run in runs:
        changed = {name for name in SAVED.__struct_fields__ if getattr(run.params, name) != getattr(SAVED, name)}
        assert changed <= {*run.settings, "seed"}
        assert all(getattr(run.params, name) == value for name, value in run.settings.items())


@pytest.mark.parametrize(
    ("grid", "n", "field"),
    [
        (Grid(), 0, "n"),
        (Grid(), MAX_RUNS + 1, "n"),
        (Grid(), 10**30, "n"),
        (Grid(temperature=(0.1, 0.2)), MAX_RUNS // 2 + 1, "grid"),
        (Grid(top_k=tuple(range(MAX_RUNS + 1))), 1, "grid"),
        (Grid(top_k=(1, 1)), 1, "grid.top_k"),
    ],
)
def test_what_is_too_much_is_refused_by_field(grid: Grid, n: int, field: str) -> None:
    with pytest.raises(PlanError) as refused:
        plan(SAVED, grid, n, is_fresh=False)
    assert refused.value.field == field


@given(st.lists(st.integers(0, 2)), st.lists(st.integers(0, 2)))
def test_the_first_difference_is_where_the_common_beginning_ends(a: list[int], b: list[int]) -> None:
    at = first_difference(a, b)
    if at is None:
        assert a == b
    else:
        assert a[:at] == b[:at]
        assert a[at : at + 1] != b[at : at + 1]
