"""The text of a secret: made at random, and read without a fault whatever is sent."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from webapp.identity.keys import secrets


def test_a_secret_has_its_prefix_and_at_least_32_random_bytes() -> None:
    made = {secrets.make().text for _ in range(100)}
    assert len(made) == 100
    for text in made:
        assert len(text) == len("sg-") + 8 + 43 and 62**43 > 2**256
        found = secrets.parse(text)
        assert found is not None and text.startswith(found.prefix) and len(found.prefix) == 11


def test_a_secret_does_not_show_itself() -> None:
    made = secrets.make()
    assert made.text not in repr(made)


@given(st.text(max_size=80))
@example("")
@example("sg-")
@example("sg-" + "a" * 50)
@example("sg-" + "a" * 52)
@example("sg-" + "a" * 51 + "\n")
@example("sg-" + "ä" * 51)
@example("sg-" + "٣" * 51)
@example("SG-" + "a" * 51)
@example("sg-" + "a" * 1_000_000)
def test_hostile_text_is_no_secret(text: str) -> None:
    assert secrets.parse(text) is None


@given(st.from_regex(r"\Asg-[0-9A-Za-z]{51}\Z"))
def test_what_is_well_formed_is_read_whole(text: str) -> None:
    found = secrets.parse(text)
    assert found is not None and found.text == text and len(found.digest) == 64


@given(st.data())
def test_a_change_of_one_letter_is_another_secret(data: st.DataObject) -> None:
    text = secrets.make().text
    place = data.draw(st.integers(3, len(text) - 1))
    changed = text[:place] + ("b" if text[place] == "a" else "a") + text[place + 1 :]
    one, other = secrets.parse(text), secrets.parse(changed)
    assert one is not None and other is not None and one.digest != other.digest
