"""A user's own rule decides, then the most generous of the groups, then the site, then the product."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from webapp.usage.limits.effective import Values, effective

amounts = st.none() | st.integers(1, 9)
flags = st.none() | st.booleans()
values = st.builds(
    Values, amounts, amounts, amounts, flags, flags, flags, stop_reason=st.none() | st.sampled_from(["", "too much"])
)
ORDER = {"user": 0, "group": 1, "site": 2, "product": 3}


@given(values, st.lists(values, max_size=3), values)
def test_the_nearest_rule_that_says_something_decides(own: Values, groups: list[Values], site: Values) -> None:
    found = effective(own, groups, site, 8)
    for name, source in found.sources.items():
        value = getattr(found, name)
        if getattr(own, name) is not None:
            assert (value, source) == (getattr(own, name), "user")
        elif said := [getattr(each, name) for each in groups if getattr(each, name) is not None]:
            assert (value, source) == (max(said), "group")
        elif getattr(site, name) is not None:
            assert (value, source) == (getattr(site, name), "site")
        else:
            assert source == "product"
    assert found.max_open >= 1


@given(values, st.lists(values, max_size=3), values)
def test_a_stop_of_any_rule_holds(own: Values, groups: list[Values], site: Values) -> None:
    stops = [each.stop_reason for each in (own, *groups, site) if each.stop_reason is not None]
    assert effective(own, groups, site, 8).stop_reason == (stops[0] if stops else None)


def test_without_rules_the_product_decides() -> None:
    found = effective(Values(), [], Values(), 8)
    assert (found.max_open, found.requests_per_minute, found.tokens_per_day) == (8, None, None)
    assert (found.may_share, found.may_probe, found.may_rerun, found.stop_reason) == (True, True, True, None)
