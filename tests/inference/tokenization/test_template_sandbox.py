"""A model file's own code cannot hang, fill the memory or read what it should not; honest templates notice nothing."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import NoReturn

import psutil
import pytest

from inference.sandbox.sandbox import Bounds
from inference.tokenization.chat_template import ChatMessage, ChatTemplate
from inference.tokenization.gguf_metadata import Metadata, TokenizerError
from inference.tokenization.template_process import TemplateError, TemplateProcess
from inference.tokenization.tokenizer import Tokenizer
from tests.processes import wait_until_gone

pytestmark = pytest.mark.slow

_NESTED = (
    "{% set n = namespace(a=[], b=[]) %}{% for _ in range(60) %}"
    "{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, n.b] %}{% endfor %}"
)
_ENDLESS = (
    "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}"
)


def _processor_s() -> float:
    """What processes of ours that are over took of the processor: by the clock, a busy machine takes longer."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


@pytest.mark.parametrize(
    "source",
    [
        _ENDLESS,
        "{{ 'a' * 10 ** 9 }}",
        "{{ [0] * 999999999 }}",
        "{{ range(999999999) | list }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set n = namespace(x='a') %}{% for _ in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
        "{% set n = namespace(x='a') %}{% for _ in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x }}",
        "{% for m in messages %}{{ m.content | center(10000000000) }}{% endfor %}",
        "{% for m in messages %}{{ '%010000000000d' % loop.index }}{% endfor %}",
        "{% for m in messages %}{{ m.content.replace('', 'a' * 900000).replace('a', 'b' * 900000) }}{% endfor %}",
        "{% for _ in range(90000) %}{{ '" + "a" * 90 + "' }}{% endfor %}",
        _NESTED + "{{ n.a == n.b }}",
        _NESTED + "{{ n.a }}",
        _NESTED + "{{ n.a | string | length }}",
        "{{ raise_exception('a' * 1000000) }}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ 1 // 0 }}",
    ],
)
def test_a_hostile_template_ends_with_an_error(metadata: Metadata, tokenizer: Tokenizer, source: str) -> None:
    template = ChatTemplate(replace(metadata, chat_template=source), tokenizer)
    start = _processor_s()
    with pytest.raises(TemplateError, match=r"failed|refuses"):
        template.render([ChatMessage("user", "hi")])
    del template
    assert _processor_s() - start < 3


@pytest.mark.parametrize(
    "source",
    [
        "{{ " + "(" * 40_000,
        "{% if 1 %}" * 500 + "{% endif %}" * 500,
        "{{ 'a' | center(10000000000) }}",
        "{% for %}",
        "{{ 10 ** (10 ** 10) }}",
    ],
)
def test_a_template_that_cannot_be_compiled_is_named(metadata: Metadata, tokenizer: Tokenizer, source: str) -> None:
    with pytest.raises(TemplateError, match=r"not valid|failed"):
        ChatTemplate(replace(metadata, chat_template=source), tokenizer).render([ChatMessage("user", "hi")])


def test_an_error_is_short(metadata: Metadata, tokenizer: Tokenizer) -> None:
    template = ChatTemplate(replace(metadata, chat_template="{{ raise_exception('a' * 100000) }}"), tokenizer)
    with pytest.raises(TemplateError, match="aaaa") as caught:
        template.render([ChatMessage("user", "hi")])
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(("system", "is_limited"), [("linux", True), ("darwin", False)])
def test_a_system_keeps_the_limit_that_it_knows(system: str, is_limited: bool) -> None:
    assert (Bounds(1, 1 << 20).kept_by(system)["memory_bytes"] > 0) == is_limited


@pytest.mark.parametrize(
    "source",
    [
        "{% set big = text * 350000000 %}" + _ENDLESS,
        "{{ text * 10 ** 9 }}",
        "{{ [text] * 999999999 }}",
        _NESTED + "{{ n.a | string | length }}",
        _ENDLESS,
    ],
)
def test_without_the_systems_limit_the_memory_is_looked_at(source: str) -> None:
    """As on macOS, which knows none. The next rendering has a new process."""
    process = TemplateProcess("{% if is_hostile %}" + source + "{% endif %}{{ text }}", system="darwin")
    with pytest.raises(TemplateError, match=r"memory|more than 1 s|characters"):
        process.render({"is_hostile": True, "text": "hi"})
    assert process.render({"is_hostile": False, "text": "hi"}) == "hi"


def test_others_go_on_while_one_template_takes_its_time(metadata: Metadata, tokenizer: Tokenizer) -> None:
    """Nor does what it takes in one operation keep this process from its own work."""
    template = ChatTemplate(replace(metadata, chat_template=_NESTED + "{{ n.a == n.b }}"), tokenizer)
    is_over = threading.Event()

    def fail() -> None:
        with pytest.raises(TemplateError, match="more than 1 s"):
            template.render([ChatMessage("user", "hi")])
        is_over.set()

    thread = threading.Thread(target=fail)
    thread.start()
    waits = []
    while not is_over.is_set():
        start = time.monotonic()
        is_over.wait(0.01)
        waits.append(time.monotonic() - start)
    thread.join()
    assert len(waits) > 10
    assert max(waits) < 0.8


def test_a_template_is_there_again_after_its_process_was_ended(metadata: Metadata, tokenizer: Tokenizer) -> None:
    source = (
        "{% for m in messages %}{{ m.content }}{% endfor %}{% if messages | length > 1 %}" + _ENDLESS + "{% endif %}"
    )
    template = ChatTemplate(replace(metadata, chat_template=source), tokenizer)
    messages = [ChatMessage("user", "hi"), ChatMessage("user", "ho")]
    whole = template.render(messages[:1]).ids
    with pytest.raises(TemplateError, match="more than 1 s"):
        template.render(messages)
    assert template.render(messages[:1]).ids == whole


def test_a_process_that_was_killed_is_replaced() -> None:
    before = _children(os.getpid())
    process = TemplateProcess("{{ text }}")
    (child,) = _children(os.getpid()) - before
    _kill(child)
    assert process.render({"text": "hi"}) == "hi"
    del process
    assert not _children(os.getpid()) - before


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_process_that_is_held_up_or_killed_from_outside_in_a_rendering_is_replaced(
    is_killed: bool,
) -> None:
    before = _children(os.getpid())
    process = TemplateProcess("{{ text }}", patience_s=30 if is_killed else 2)
    (child,) = _children(os.getpid()) - before
    os.kill(child, signal.SIGSTOP)
    killing = threading.Timer(0.1, os.kill, (child, signal.SIGKILL))
    if is_killed:
        killing.start()
    assert process.render({"text": "hi"}) == "hi"
    assert child not in _children(os.getpid())


def test_what_the_environment_holds_is_not_for_a_template() -> None:
    before = _children(os.getpid())
    process = TemplateProcess("")
    (child,) = _children(os.getpid()) - before
    assert set(psutil.Process(child).environ()) <= {"PATH", "LD_LIBRARY_PATH", "LC_CTYPE", "__CF_USER_TEXT_ENCODING"}
    del process


def test_a_rendering_that_is_interrupted_leaves_no_reply_to_the_next() -> None:
    class Interrupted(Exception):
        pass

    def interrupt(*_: object) -> NoReturn:
        raise Interrupted

    process = TemplateProcess("{% if is_slow %}{% for a in range(90000) %}{{ a }}{% endfor %}{% endif %}{{ text }}")
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(Interrupted):
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            process.render({"is_slow": True, "text": "a"})
    finally:
        signal.signal(signal.SIGALRM, before)
    assert process.render({"is_slow": False, "text": "b"}) == "b"


def test_the_time_ends_also_where_the_parent_ignores_that_signal() -> None:
    before = signal.signal(signal.SIGPROF, signal.SIG_IGN)
    try:
        process = TemplateProcess(_ENDLESS)
    finally:
        signal.signal(signal.SIGPROF, before)
    with pytest.raises(TemplateError, match="more than 1 s"):
        process.render({})


def test_a_stop_of_the_whole_group_is_left_to_the_parent() -> None:
    before = _children(os.getpid())
    process = TemplateProcess("{{ text }}")
    (child,) = _children(os.getpid()) - before
    os.kill(child, signal.SIGTERM)
    os.kill(child, signal.SIGINT)
    assert process.render({"text": "hi"}) == "hi"
    assert child in _children(os.getpid())


def test_no_process_is_left_behind_by_one_that_was_killed() -> None:
    code = (
        "from inference.tokenization.template_process import TemplateProcess\n"
        "process = TemplateProcess('{{ text }}'); print(process.render({'text': 'ready'}), flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        (child,) = _children(parent.pid)
        parent.kill()
    wait_until_gone(child)


def test_arithmetic_is_jinjas() -> None:
    source = "{{ 2 * 3 }} {{ 2 ** 10 }} {{ 'ab' * 2 }} {{ 2000 * 3000 }} {{ 0.5 * 4 }}"
    assert TemplateProcess(source).render({}) == "6 1024 abab 6000000 2.0"


def _children(pid: int) -> set[int]:
    return {child.pid for child in psutil.Process(pid).children()}


def _kill(pid: int) -> None:
    """Returns when it has ended."""
    os.kill(pid, signal.SIGKILL)
    wait_until_gone(pid)


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
