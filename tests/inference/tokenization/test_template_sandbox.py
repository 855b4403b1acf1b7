"""A model file's own code cannot hang, fill the memory or read what it should not; honest templates notice nothing."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace

import pytest
from jinja2.exceptions import SecurityError

from inference.tokenization.chat_template import ChatMessage, ChatTemplate, TemplateError
from inference.tokenization.gguf_metadata import Metadata, TokenizerError
from inference.tokenization.template_sandbox import TemplateSandbox, memory_limit, time_limit
from inference.tokenization.tokenizer import Tokenizer

_ENDLESS = (
    "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}"
)


@pytest.mark.parametrize(
    "source",
    [
        _ENDLESS,
        "{{ 'a' * 10 ** 9 }}",
        "{{ [0] * 999999999 }}",
        "{{ 10 ** (10 ** 10) }}",
        "{{ range(999999999) | list }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set n = namespace(x='a') %}{% for _ in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
        "{% set n = namespace(x='a') %}{% for _ in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x }}",
        "{% for m in messages %}{{ m.content | center(10000000000) }}{% endfor %}",
        "{% for m in messages %}{{ '%010000000000d' % loop.index }}{% endfor %}",
        "{% for m in messages %}{{ m.content.replace('', 'a' * 900000).replace('a', 'b' * 900000) }}{% endfor %}",
        "{% for _ in range(90000) %}{{ '" + "a" * 90 + "' }}{% endfor %}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ 1 // 0 }}",
    ],
)
def test_a_hostile_template_ends_with_an_error(metadata: Metadata, tokenizer: Tokenizer, source: str) -> None:
    template = ChatTemplate(replace(metadata, chat_template=source), tokenizer)
    start = time.monotonic()
    with pytest.raises(TemplateError, match="failed"):
        template.render([ChatMessage("user", "hi")])
    assert time.monotonic() - start < 3


@pytest.mark.parametrize(
    "source",
    ["{{ " + "(" * 40_000, "{% if 1 %}" * 500 + "{% endif %}" * 500, "{{ 'a' | center(10000000000) }}", "{% for %}"],
)
def test_a_template_that_cannot_be_compiled_is_named(metadata: Metadata, tokenizer: Tokenizer, source: str) -> None:
    with pytest.raises(TemplateError, match=r"not valid|failed"):
        ChatTemplate(replace(metadata, chat_template=source), tokenizer).render([ChatMessage("user", "hi")])


def test_the_limits_are_gone_afterwards() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with memory_limit(50 << 20):
        assert len(bytes(10 << 20)) == 10 << 20
        with pytest.raises(MemoryError):
            bytes(2 << 30)  # more than the other tests' garbage that may be collected meanwhile
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert len(bytes(100 << 20)) == 100 << 20


def test_small_arithmetic_is_allowed() -> None:
    source = "{{ 2 * 3 }} {{ 2 ** 10 }} {{ 'ab' * 2 }} {{ 2000 * 3000 }} {{ 0.5 * 4 }}"
    assert TemplateSandbox().from_string(source).render() == "6 1024 abab 6000000 2.0"


def test_the_time_limit_leaves_no_trace_function_behind() -> None:
    before = sys.gettrace()
    with pytest.raises(SecurityError), time_limit(0.001):
        TemplateSandbox().from_string(_ENDLESS).render()
    assert sys.gettrace() is before


def test_every_end_of_turn_token_of_the_vocabulary_ends_an_answer(tokenizer: Tokenizer) -> None:
    assert {tokenizer.label(token) for token in tokenizer.eos_ids} == {b"<|im_end|>", b"<|endoftext|>"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pre": "tekken"}, "tekken"),
        ({"merges": ()}, "merges"),
        ({"model": "llama"}, "llama"),
        ({"eos_id": 10**9}, "not in the vocabulary"),
        ({"bos_id": 10**9}, "not in the vocabulary"),
    ],
)
def test_a_tokenizer_that_cannot_be_rebuilt_is_named(
    metadata: Metadata, change: dict[str, object], message: str
) -> None:
    with pytest.raises(TokenizerError, match=message):
        Tokenizer(replace(metadata, **change))  # type: ignore[arg-type]


def test_a_vocabulary_that_is_not_byte_level_is_named(metadata: Metadata) -> None:
    tokens = (*metadata.tokens[:-1], "日本")
    with pytest.raises(TokenizerError, match=r"byte-level|merges"):
        Tokenizer(replace(metadata, tokens=tokens))
