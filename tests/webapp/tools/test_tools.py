"""The tools of the server answer their calls, and say what is wrong with one."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.grammar.check import GrammarCheck
from inference.protocol.request import SamplingParams
from inference.protocol.tool_calls import Call, ToolCalls
from webapp.tools import catalog
from webapp.tools.catalog import TOOLS, Result, definitions_of, run
from webapp.tools.tool import Asker

ASKER = Asker("req_" + "t" * 22, 1)


def called(name: str, **arguments: Any) -> Result:
    return run(Call(name, json.dumps(arguments)), ASKER)


@pytest.mark.parametrize(
    ("expression", "value"),
    [("17*23", "391"), ("17 × 23", "391"), ("2^10", "1024"), ("1/4", "0.25"), ("0.1+0.2", "0.3"), ("-7 % 3", "2")],
)
def test_the_calculator_computes(expression: str, value: str) -> None:
    result = called("calculator", expression=expression)
    assert (result.text, result.is_error) == (value, False)


@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12), st.sampled_from("+-*"))
def test_whole_numbers_are_exact(left: int, right: int, sign: str) -> None:
    exact = {"+": left + right, "-": left - right, "*": left * right}[sign]
    assert called("calculator", expression=f"({left}){sign}({right})").text == str(exact)


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=1000))
def test_a_quotient_is_near_its_value(value: Fraction) -> None:
    found = called("calculator", expression=f"({value.numerator})/({value.denominator})")
    assert float(found.text) == pytest.approx(float(value), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "(",
        "1/0",
        "9**9**9",
        "9^9^9^9",
        "10**200",
        "(-8)**0.5",
        "1e309",
        "__import__('os')",
        "(1).real",
        "'a'*9",
        "a",
        "(" * 500,
        "(" * 100,
        "10**400",
        "10**400+0.5",
        "10**(10**3)",
    ],
)
def test_the_calculator_refuses_what_has_no_value(expression: str) -> None:
    result = called("calculator", expression=expression)
    assert result.is_error and result.text


@pytest.mark.parametrize("expression", ["99999**4000000", "9**1300", "(-7)**99999", "2**3999*2**3999"])
def test_a_number_that_would_be_too_large_is_refused_before_it_is_computed(expression: str) -> None:
    result = called("calculator", expression=expression)
    assert result.is_error and "too large to compute" in result.text


@pytest.mark.parametrize(("expression", "value"), [("2**-4000", "0"), ("7**1200 % 10", "1"), ("0**4000000", "0")])
def test_a_power_within_the_bounds_is_computed(expression: str, value: str) -> None:
    assert float(called("calculator", expression=expression).text) == float(value)


def test_the_time_is_that_of_the_zone() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    text = called("current_time", zone="Asia/Kathmandu").text
    day, _, stamp = text.partition(", ")
    told = datetime.fromisoformat(stamp)
    assert before <= told <= datetime.now(UTC)
    assert stamp.endswith("+05:45") and day == f"{told:%A}"


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe", "a\x00b"])
def test_a_wrong_zone_is_refused(zone: str) -> None:
    result = called("current_time", zone=zone)
    assert result.is_error and "Europe/Zurich" in result.text


@pytest.mark.parametrize(
    ("value", "source", "target", "number"),
    [
        (5, "km", "mile", 3.10685596),
        (100, "degC", "degF", 212),
        (60, "km/h", "m/s", 16.6666667),
        (1, "kg*m^2/s^2", "J", 1),
    ],
)
def test_units_are_converted(value: float, source: str, target: str, number: float) -> None:
    result = called("convert_units", **{"value": value, "from": source, "to": target})
    assert float(re.split(" ", result.text)[0]) == pytest.approx(number, rel=1e-6) and not result.is_error


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("m", "s"),
        ("foo", "m"),
        ("9**9**9", "m"),
        ("m^99", "m"),
        ("", "m"),
        ("m" * 50, "m"),
        ("__class__", "m"),
        ("m;n", "m"),
    ],
)
def test_wrong_units_are_refused(source: str, target: str) -> None:
    assert called("convert_units", **{"value": 1, "from": source, "to": target}).is_error


@pytest.mark.parametrize("value", ["1e400", "-1e400", "NaN", "9" * 400, "1e308"])
def test_a_value_that_is_not_finite_is_refused(value: str) -> None:
    result = run(Call("convert_units", f'{{"value": {value}, "from": "km", "to": "mm"}}'), ASKER)
    assert result.is_error and "finite" in result.text


@pytest.mark.parametrize(
    "arguments",
    ["", "[]", "null", "3", '{"expression": null}', "{}", '{"zone": 1}', "{" * 4000, '{"a": ' * 200_000, "9" * 5000],
)
def test_arguments_that_do_not_fit_are_a_result(arguments: str) -> None:
    for name in (*TOOLS, "unknown"):
        assert run(Call(name, arguments), ASKER).is_error


def test_an_unexpected_fault_of_a_tool_is_a_result_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any) -> str:
        raise RuntimeError("secret")

    monkeypatch.setitem(TOOLS, "calculator", replace(TOOLS["calculator"], run=fails))
    result = called("calculator", expression="1")
    assert result.is_error and "secret" not in result.text
    assert "secret" in caplog.text


def test_a_long_result_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "MAX_RESULT_CHARS", 10)
    text = called("calculator", expression="10**20").text
    assert text.startswith("1000000000\n(cut off here") and "21 characters" in text


def test_each_schema_makes_a_grammar() -> None:
    calls = ToolCalls(tools=definitions_of(TOOLS), is_required=True)
    assert calls.problem() is None
    assert GrammarCheck().problem(SamplingParams(tool_calls=calls)) is None


def test_the_demonstration_of_weather_says_what_it_is_and_repeats_itself() -> None:
    found = called("demo_weather", city="Zurich")
    assert "not real weather" in found.text and found.text == called("demo_weather", city="Zurich").text
    assert found.text.partition(":")[2] != called("demo_weather", city="Oslo").text.partition(":")[2]
    assert called("demo_weather", city=" ").is_error


def test_a_tool_that_fails_by_its_own_mistake_gives_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> str:
        raise RuntimeError("a secret of the server")

    monkeypatch.setitem(catalog.TOOLS, "calculator", replace(catalog.TOOLS["calculator"], run=broken))
    found = called("calculator", expression="1")
    assert found.is_error and "Unknown whether" in found.text and "secret" not in found.text
