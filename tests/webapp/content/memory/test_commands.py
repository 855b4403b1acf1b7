""" "remember …" and "forget …" are read at the start of a message alone, by rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.content.memory.commands import Command, Forget, Remember, command_of

FACT = st.text(min_size=1, max_size=80).map(str.strip).filter(lambda text: text and "\n" not in text)
AFTER_NO_COLON = FACT.filter(lambda text: not text.startswith(":"))
LEAD = st.sampled_from(["remember that ", "Remember that ", "please remember that ", "  remember: ", "REMEMBER:"])


@pytest.mark.parametrize(
    ("message", "command"),
    [
        ("remember that I like tea", Remember("I like tea")),
        ("Remember: my cat is called Mia.", Remember("my cat is called Mia.")),
        ("Please, remember that I live in Graz", Remember("I live in Graz")),
        ("remember that I like tea\n\nNow write a poem.", Remember("I like tea")),
        ("remember: a\nb", Remember("a\nb")),
        ("forget tea", Forget("tea")),
        ("Please forget that I like tea", Forget("I like tea")),
        ("forget about my cat", Forget("my cat")),
        ("forget: tea", Forget("tea")),
        ("Do you remember that I like tea?", None),
        ("remember", None),
        ("remember that", None),
        ("Remember me?", None),
        ("remembering that day", None),
        ("forgetful people", None),
        ("forget", None),
        ("She said: remember that I like tea", None),
        ("", None),
    ],
)
def test_a_command_begins_its_message(message: str, command: Command | None) -> None:
    assert command_of(message) == command


@given(LEAD, AFTER_NO_COLON)
def test_the_text_to_remember_is_kept_letter_by_letter(lead: str, fact: str) -> None:
    assert command_of(lead + fact) == Remember(fact)


@given(st.text(max_size=40), FACT)
def test_words_before_a_command_make_it_none(before: str, fact: str) -> None:
    if before.strip() and not before.strip().lower().startswith(("remember", "forget", "please")):
        assert command_of(f"{before} remember that {fact}") is None


@given(st.text(max_size=200))
def test_any_message_is_read(message: str) -> None:
    found = command_of(message)
    assert found is None or found.text.strip() == found.text != ""
