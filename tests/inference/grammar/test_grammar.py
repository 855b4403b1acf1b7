"""Whatever is sampled under a constraint keeps to it; what cannot be kept to is refused in words."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import sys
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.grammar.check import CheckFailed, ChecksBusy, GrammarCheck
from inference.grammar.grammar import Grammar, Grammars
from inference.grammar.vocabulary import COPY
from inference.protocol.failures import GrammarError, GrammarTooComplex
from inference.protocol.request import SamplingParams
from inference.protocol.tool_calls import Splitter, Tool, ToolCalls, written
from inference.sampling.errors import SamplingFailed
from inference.sampling.sampler import Sampler
from inference.sandbox.kept_process import Copy
from inference.tokenization.tokenizer import Tokenizer
from tests.processes import wait_until_gone

CHECK = GrammarCheck()
SCALARS: list[dict[str, Any]] = [
    {"type": "integer", "minimum": -3, "maximum": 1200},
    {"type": "boolean"},
    {"type": "null"},
    {"enum": ["red", "grün", "🙂", 5, None]},
    {"type": "string", "maxLength": 5},
    {"type": "string", "pattern": "^[a-f]{2}-[0-9]{2,3}$"},
    {"type": "number", "minimum": 0, "maximum": 1},
]
SCHEMAS = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.one_of(
        st.builds(
            lambda properties: {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            },
            st.dictionaries(st.sampled_from(["a", "b c", "é"]), inner, max_size=3),
        ),
        st.builds(lambda items: {"type": "array", "items": items, "maxItems": 2}, inner),
        st.builds(lambda first, second: {"anyOf": [first, second]}, inner, inner),
    ),
    max_leaves=5,
)


def sample(grammars: Grammars, tokenizer: Tokenizer, params: SamplingParams, most: int = 400) -> str | None:
    """An answer of a model that knows nothing and would rather chat; None when it has not ended after `most`."""
    grammar = grammars.compile(params)
    sampler = Sampler(params, grammar=grammar)
    generator = np.random.default_rng(params.seed)
    output: list[int] = []
    while len(output) < most:
        logits = generator.standard_normal(tokenizer.vocab_size).astype(np.float32) * 4
        sampler.prepare(output)
        assert grammar is None or grammar.wait(30)
        output.append(sampler.sample(logits, output).id)
        if output[-1] in tokenizer.eos_ids:
            return tokenizer.decode(output)
    return None


@settings(max_examples=50)
@given(schema=SCHEMAS, seed=st.integers(0, 2**32))
def test_an_answer_under_a_schema_satisfies_it(
    grammars: Grammars, tokenizer: Tokenizer, schema: dict[str, Any], seed: int
) -> None:
    params = SamplingParams(json_schema=json.dumps(schema), temperature=1.0, top_p=1.0, seed=seed)
    assert CHECK.problem(params) is None
    text = sample(grammars, tokenizer, params)
    assert text is not None
    assert satisfies(json.loads(text), schema)


@settings(max_examples=50)
@given(
    regex=st.sampled_from(["yes|no", "[0-9]{3}-[0-9]{4}", "(a|bc){2,5}d?", "[^a]{3}", "[α-ω]{1,4}\\.", "é+ü?"]),
    seed=st.integers(0, 2**32),
)
def test_an_answer_under_a_regular_expression_matches_it(
    grammars: Grammars, tokenizer: Tokenizer, regex: str, seed: int
) -> None:
    params = SamplingParams(regex=regex, temperature=1.0, top_p=1.0, seed=seed)
    text = sample(grammars, tokenizer, params, most=60)
    if text is not None:
        assert re.fullmatch(regex, text)


TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}


def satisfies(value: Any, schema: dict[str, Any]) -> bool:
    """JSON Schema's rules for the keywords that SCHEMAS uses."""
    if "anyOf" in schema:
        return any(satisfies(value, option) for option in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    kind = schema["type"]
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return False
    if kind == "object":
        properties = schema["properties"]
        return value.keys() == properties.keys() and all(satisfies(value[key], properties[key]) for key in properties)
    if kind == "array":
        return len(value) <= schema["maxItems"] and all(satisfies(item, schema["items"]) for item in value)
    if kind == "string":
        return len(value) <= schema.get("maxLength", len(value)) and bool(re.search(schema.get("pattern", ""), value))
    return kind in ("boolean", "null") or schema["minimum"] <= value <= schema["maximum"]


def test_after_the_end_only_end_of_turn_tokens_are_left(grammars: Grammars, tokenizer: Tokenizer) -> None:
    grammar = grammars.compile(SamplingParams(regex="yes|no"))
    assert grammar is not None
    assert not any(grammar.allowed()[token] for token in tokenizer.eos_ids)
    grammar.accept(tokenizer.encode("yes"))
    assert set(np.flatnonzero(grammar.allowed()).tolist()) == tokenizer.eos_ids


def test_white_space_between_the_parts_of_json_is_one_space_or_a_line_with_its_indent(
    grammars: Grammars, tokenizer: Tokenizer
) -> None:
    def is_allowed(text: str) -> bool:
        grammar = grammars.compile(SamplingParams(json_schema='{"type": "object"}'))
        assert grammar is not None
        for token in tokenizer.encode(text):
            if not grammar.allowed()[token]:
                return False
            grammar.accept([token])
        return True

    assert is_allowed('{"a":1}') and is_allowed('{"a": 1, "b": 2}') and is_allowed('{\n    "a": 1\n}')
    assert not is_allowed('{\n\n"a"') and not is_allowed("{    ")


def test_a_token_that_was_not_allowed_ends_the_sequence_with_an_error(grammars: Grammars, tokenizer: Tokenizer) -> None:
    params = SamplingParams(regex="yes|no")
    grammar = grammars.compile(params)
    assert grammar is not None
    sampler, output = Sampler(params, grammar=grammar), tokenizer.encode("maybe")
    sampler.prepare(output)
    assert grammar.wait(30)
    with pytest.raises(SamplingFailed, match="The grammar cannot continue") as caught:
        sampler.sample(np.zeros(tokenizer.vocab_size, np.float32), output)
    assert caught.value.code == "invalid_grammar"


def test_nothing_is_compiled_without_a_constraint(grammars: Grammars) -> None:
    assert grammars.compile(SamplingParams()) is None
    assert CHECK.problem(SamplingParams()) is None


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("json_schema", "", "must be a JSON object"),
        ("json_schema", "{", "must be a JSON object"),
        ("json_schema", "[]", "must be a JSON object"),
        ("json_schema", '{"type": "array", "uniqueItems": true}', "uniqueItems"),
        ("json_schema", '{"not": {"type": "string"}}', "not"),
        ("json_schema", '{"x-guidance": {"lenient": true}, "not": {}}', "not"),
        ("json_schema", '{"type": "strin"}', "strin"),
        ("json_schema", '{"type": "string", "format": "fancy"}', "fancy"),
        ("json_schema", '{"type": "string", "pattern": "(?=a)b"}', "look-around"),
        ("json_schema", '{"$ref": "https://example.org/schema"}', "example.org"),
        ("json_schema", '{"$ref": "#/nowhere"}', "nowhere"),
        ("json_schema", '{"enum": []}', "Unsatisfiable"),
        ("json_schema", '{"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}', "no text satisfies it"),
        ("json_schema", '{"items":' * 5000 + "{}" + "}" * 5000, "recursion"),
        ("regex", "(", "unclosed group"),
        ("regex", "(?=a)b", "look-around"),
        ("regex", "\\bfoo", "lookarounds not supported"),
        ("regex", "[^\\s\\S]", "no text satisfies it"),
        ("regex", "(((a{91}){99}){93}){99}", "its repetitions multiply to 82 million; at most 100,000"),
        ("regex", "a{1000000000}", "its repetitions multiply to 1 billion; at most 100,000"),
        ("regex", "(([a-z]{1,99}[0-9]{2}){2,99}|b){99}", "its repetitions multiply to 990,099; at most 100,000"),
        ("json_schema", '{"items": [{"pattern": "((a{999}){999})"}]}', "multiply to 998,001; at most 100,000"),
        ("json_schema", '{"patternProperties": {"a{999999}": {}}}', "multiply to 999,999; at most 100,000"),
    ],
)
def test_what_cannot_be_kept_to_is_refused_in_words(field: str, text: str, said: str) -> None:
    problem = CHECK.problem(SamplingParams(**{field: text}))  # type: ignore[arg-type]
    assert problem is not None
    assert problem.field == field
    assert problem.text.startswith("cannot be used: ")
    assert said in problem.text
    assert "\n" not in problem.text


USUAL = {f"property_{number}": SCALARS[number % len(SCALARS)] for number in range(200)}


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("regex", "[a-z]{1,200}"),
        ("regex", "(?s:.{1,20000})"),
        ("regex", "(- .{1,80}\\n){3,100}"),
        ("regex", "(?P<day>[0-9]{2})\\.[{99999}]{9}(?:\\{999999}|\\p{L}){2,90}"),
        ("json_schema", json.dumps({"type": "object", "properties": USUAL, "required": list(USUAL)})),
        (
            "json_schema",
            json.dumps({"type": "array", "items": {"type": "object", "properties": USUAL}, "maxItems": 99}),
        ),
        ("json_schema", json.dumps({"enum": [f"value {number}" for number in range(2000)]})),
        ("json_schema", json.dumps({"type": "string", "maxLength": 1_000_000})),
    ],
)
def test_a_constraint_of_a_usual_size_is_followed(
    grammars: Grammars, tokenizer: Tokenizer, field: str, text: str
) -> None:
    params = SamplingParams(**{field: text}, temperature=1.0, top_p=1.0, seed=1)  # type: ignore[arg-type]
    assert CHECK.problem(params) is None
    sample(grammars, tokenizer, params, most=30)


_ENDLESS = SamplingParams(json_schema='{"type": "number", "multipleOf": 99999989}')
"""A short schema that takes the library minutes and gigabytes."""


@pytest.mark.slow
def test_what_takes_too_much_is_ended_by_the_time_it_takes(grammars: Grammars) -> None:
    problem = CHECK.problem(_ENDLESS)
    assert problem is not None and problem.field == "json_schema"
    assert "more than 0.5 s or 128 MB" in problem.text
    with pytest.raises(GrammarTooComplex, match=r"params\.json_schema is too complex.*Simplify it"):
        grammars.compile(_ENDLESS)


@pytest.mark.slow
def test_others_compile_while_one_takes_too_much(grammars: Grammars, tokenizer: Tokenizer) -> None:
    with ThreadPoolExecutor() as pool:
        endless = [pool.submit(grammars.compile, _ENDLESS) for _ in range(4)]
        for _ in range(20):
            assert sample(grammars, tokenizer, SamplingParams(regex="yes|no", seed=1), most=3) in ("yes", "no")
        assert all(isinstance(each.exception(), GrammarTooComplex) for each in endless)


@pytest.mark.slow
def test_a_site_that_checks_hostile_constraints_keeps_its_memory() -> None:
    hostile = [SamplingParams(regex=f"(((a{{1{number}}}){{99}}){{99}}){{99}}") for number in range(10, 99)] + [_ENDLESS]
    CHECK.problem(SamplingParams(regex="a{99999}"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(CHECK.problem, hostile))
    num_kilobytes = 1024 if sys.platform == "darwin" else 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000 * num_kilobytes


@pytest.mark.slow
def test_a_process_that_was_killed_is_replaced() -> None:
    check, before = GrammarCheck(), _processes()
    assert check.problem(SamplingParams(regex="yes|no")) is None
    for child in _processes() - before:
        os.kill(child, signal.SIGKILL)
        wait_until_gone(child)
    assert check.problem(SamplingParams(regex="yes|no")) is None


def test_no_process_is_left_behind_by_an_answer_that_ended(grammars: Grammars) -> None:
    grammars.compile(SamplingParams(regex="yes|no"))
    before = _processes()
    grammar = grammars.compile(SamplingParams(regex="yes|no"))
    (process,) = _processes() - before
    assert grammar is not None
    grammar.close()
    wait_until_gone(process)
    with pytest.raises(GrammarError):
        grammar.allowed()


@pytest.mark.parametrize("regex", ["(", "[^\\s\\S]"])
def test_no_process_is_left_behind_by_a_form_that_cannot_be_kept_to(grammars: Grammars, regex: str) -> None:
    grammars.compile(SamplingParams(regex="yes|no"))
    before = _processes()
    with pytest.raises(GrammarError) as caught:
        grammars.compile(SamplingParams(regex=regex))
    for process in _processes() - before:
        wait_until_gone(process)
    assert caught.value.__traceback__ is not None  # it holds the frame of the failed call


def test_a_process_that_never_answers_is_given_up_and_the_form_is_not_to_blame() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        grammar = Grammar(Copy(ours, COPY, patience_s=0.1), "", "regex", 8)
        with pytest.raises(GrammarError, match=r"no reply in 0\.1 s\. Try again") as caught:
            grammar.allowed()
        assert caught.value.code == "internal"
        assert theirs.makefile("rb").readlines()[1:] == []  # the job, and the end, by which a process ends


def test_a_process_without_a_job_may_be_silent_for_longer_than_its_patience() -> None:
    mask = json.dumps({"mask": b64encode(b"\xff").decode(), "us": 1}).encode() + b"\n"
    ours, theirs = socket.socketpair()
    with theirs:
        grammar = Grammar(Copy(ours, COPY, patience_s=2), "", "regex", 8)
        assert theirs.recv(1 << 16)
        theirs.sendall(mask)
        assert grammar.allowed().all()
        theirs.settimeout(3)
        with pytest.raises(TimeoutError):
            theirs.recv(1)
        grammar.accept([1])
        assert theirs.recv(1 << 16)
        theirs.sendall(mask)
        assert grammar.allowed().all()


@pytest.mark.slow
def test_a_check_waits_for_its_turn_and_for_its_process_with_bounds() -> None:
    before = set(psutil.Process().children())
    check = GrammarCheck(turn_s=0.1, patience_s=5)
    assert check.problem(SamplingParams(regex="yes|no")) is None
    (process,) = set(psutil.Process().children()) - before
    process.suspend()
    with ThreadPoolExecutor() as pool:
        checks = [pool.submit(check.problem, SamplingParams(regex="yes|no")) for _ in range(3)]
        failures = [each.exception() for each in as_completed(checks)]
    process.resume()
    assert [type(failure) for failure in failures] == [ChecksBusy, CheckFailed, CheckFailed]
    assert check.problem(SamplingParams(regex="yes|no")) is None


@pytest.mark.slow
def test_more_checks_than_may_wait_are_refused_at_once() -> None:
    before = set(psutil.Process().children())
    check = GrammarCheck(turn_s=120, patience_s=120)
    assert check.problem(SamplingParams(regex="yes|no")) is None
    (process,) = set(psutil.Process().children()) - before
    process.suspend()
    with ThreadPoolExecutor(8) as pool:
        checks = [pool.submit(check.problem, SamplingParams(regex="yes|no")) for _ in range(8)]
        ended = as_completed(checks)
        refused = [next(ended).exception() for _ in range(2)]
        process.resume()
        problems = [each.result() for each in ended]
    assert [type(failure) for failure in refused] == [ChecksBusy, ChecksBusy]
    assert problems == [None] * 6


def test_a_process_that_is_killed_fails_its_answer_as_a_fault_of_the_server(grammars: Grammars) -> None:
    (process, grammar) = _begun(grammars)
    os.kill(process, signal.SIGKILL)
    wait_until_gone(process)
    grammar.accept([1])
    with pytest.raises(GrammarError, match="ended from outside") as caught:
        grammar.allowed()
    assert caught.value.code == "internal"


def _begun(grammars: Grammars) -> tuple[int, Grammar]:
    """The process of a new constraint, and the constraint."""
    grammars.compile(SamplingParams(regex="yes|no"))
    before = _processes()
    grammar = grammars.compile(SamplingParams(regex="yes|no"))
    (process,) = _processes() - before
    assert grammar is not None
    return process, grammar


def _processes() -> set[int]:
    """The processes that this one started, and their copies."""
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_the_worker_too_refuses_what_the_site_let_through(grammars: Grammars) -> None:
    with pytest.raises(GrammarError, match="unclosed group"):
        grammars.compile(SamplingParams(regex="("))


@pytest.mark.parametrize("regex", ["a{99999}", "((a{1,99}){1,99}){1,9}", ".*a.{4000}", "(.*a.*b.*c){80}", "(a|aa)+$"])
def test_a_hostile_expression_is_checked_and_begun_in_bounded_time(grammars: Grammars, regex: str) -> None:
    params = SamplingParams(regex=regex)
    CHECK.problem(params)
    grammar = grammars.compile(params)
    assert grammar is not None
    assert grammar.allowed().any()


@pytest.mark.parametrize("num_more_ids", [-2, 0, 64])
def test_a_mask_fits_a_model_with_more_or_fewer_ids_than_the_tokenizer(
    grammars: Grammars, tokenizer: Tokenizer, num_more_ids: int
) -> None:
    params = SamplingParams(regex="[0-9]+", temperature=0)
    sampler = Sampler(params, grammar=grammars.compile(params))
    logits = np.zeros(tokenizer.vocab_size + num_more_ids, np.float32)
    logits[-1] = 9
    assert tokenizer.piece(sampler.sample(logits, []).id).isdigit()


WEATHER = Tool(
    name="weather",
    parameters=json.dumps(
        {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 8}, "days": {"enum": [1, 2]}},
            "required": ["city", "days"],
            "additionalProperties": False,
        }
    ),
)
NOW = Tool(name="now")


def calls_in(answer: str) -> list[tuple[str, Any]]:
    splitter = Splitter()
    pieces = [*splitter.feed(answer), *splitter.end()]
    names = [piece.text for piece in pieces if piece.kind == "name"]
    assert not splitter.is_within_call
    return list(zip(names, [json.loads(piece.text) for piece in pieces if piece.kind == "arguments"], strict=True))


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), is_parallel=st.booleans())
def test_a_required_call_has_valid_arguments(
    tokenizer: Tokenizer, grammars: Grammars, seed: int, is_parallel: bool
) -> None:
    calls = ToolCalls(tools=(WEATHER, NOW), is_required=True, is_parallel=is_parallel)
    answer = sample(grammars, tokenizer, SamplingParams(tool_calls=calls, seed=seed, temperature=1, max_tokens=500))
    found = calls_in(answer) if answer is not None else [("now", {})]
    assert len(found) >= 1 and (is_parallel or len(found) == 1)
    for name, arguments in found:
        assert (name == "now" and arguments == {}) or arguments.keys() == {"city", "days"}


@pytest.mark.parametrize("text", ["", "I look. "])
def test_an_answer_may_call_after_its_text(tokenizer: Tokenizer, grammars: Grammars, text: str) -> None:
    grammar = grammars.compile(SamplingParams(tool_calls=ToolCalls(tools=(WEATHER, NOW))))
    assert grammar is not None
    for token in tokenizer.encode(text + written("now", "{}")):
        assert grammar.allowed()[token]
        grammar.accept([token])
    assert grammar.allowed()[list(tokenizer.eos_ids)].all()


def test_an_answer_without_a_call_may_have_a_schema_of_its_own(tokenizer: Tokenizer, grammars: Grammars) -> None:
    params = SamplingParams(tool_calls=ToolCalls(tools=(NOW,)), json_schema=WEATHER.parameters)
    grammar = grammars.compile(params)
    assert grammar is not None
    for token in tokenizer.encode('{"city": "Rome", "days": 2}'):
        assert grammar.allowed()[token]
        grammar.accept([token])
    assert grammar.allowed()[list(tokenizer.eos_ids)].all()


@pytest.mark.parametrize(
    ("is_strict", "parameters", "told"),
    [
        (True, '{"type": "object", "properties": {"a": {"type": "string", "format": "colour"}}}', "format"),
        (False, '{"type": "object", "properties": {"a": {"type": "string", "format": "colour"}}}', None),
        (False, "3", "must be a JSON object"),
        (False, "{", "no JSON"),
        (False, '{"type": "string", "pattern": "' + "(a{1000}){1000}" + '"}', "repetitions"),
    ],
)
def test_a_tools_schema_is_checked_before_the_request_is_queued(
    is_strict: bool, parameters: str, told: str | None
) -> None:
    tool = Tool(name="paint", parameters=parameters, is_strict=is_strict)
    problem = CHECK.problem(SamplingParams(tool_calls=ToolCalls(tools=(tool,))))
    assert problem is None if told is None else problem is not None and told in str(problem)


@pytest.mark.parametrize(
    ("parameters", "is_object"),
    [
        ("{}", True),
        ('{"properties": {"a": {"type": "integer"}}}', True),
        ('{"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"a": {"type": "integer"}}}]}', True),
        ('{"type": "string"}', False),
        ('{"type": ["object", "null"]}', False),
    ],
)
def test_the_arguments_of_a_call_are_an_object(
    tokenizer: Tokenizer, grammars: Grammars, parameters: str, is_object: bool
) -> None:
    params = SamplingParams(tool_calls=ToolCalls(tools=(Tool(name="f", parameters=parameters),), is_required=True))
    problem = CHECK.problem(params)
    assert problem is None if is_object else problem is not None and "must be an object" in str(problem)
    if is_object:
        grammar = grammars.compile(params)
        assert grammar is not None
        for token in tokenizer.encode(written("f", "")[: -len("}</tool_call>")]):
            grammar.accept([token])
        assert not grammar.allowed()[tokenizer.encode("5")[0]]
