"""A prompt's memories: few, those of the prompt before first, and never more than fit."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.events import RecalledMemory
from webapp.content.memory.memories import change, choose_mode, delete, remember, search
from webapp.content.memory.models import Memory
from webapp.content.memory.recall import MOST_CHARS, MOST_IN_ALL, MOST_NEW, THRESHOLD, choose, recall

ITEMS = st.lists(
    st.builds(
        RecalledMemory,
        id=st.integers(0, 12).map(str),
        text=st.integers(1, 1500).map("x".__mul__),
        similarity=st.floats(-1, 1),
    ),
    unique_by=lambda item: item.id,
    max_size=10,
)


@given(ITEMS, ITEMS.map(lambda items: items[:MOST_NEW]))
def test_those_of_the_prompt_before_stay_in_their_order_while_all_fit(
    before: list[RecalledMemory], near: list[RecalledMemory]
) -> None:
    found = choose(before, near)
    ids = [item.id for item in found]
    assert len(ids) == len(set(ids)) <= MOST_IN_ALL
    assert sum(len(item.text) for item in found) <= MOST_CHARS
    new = [item.id for item in near if item.id not in {each.id for each in before}]
    if ids[: len(before)] == [item.id for item in before]:
        assert ids[len(before) :] == new or not before
    else:
        assert set(ids) <= {item.id for item in near}


@pytest.fixture
def alice(db: None) -> int:
    return User.objects.create_user("alice").pk


def found_ids(user_id: int, text: str, before: tuple[str, ...] = ()) -> list[str]:
    event = recall(user_id, text, before)
    return [item.id for item in event.items] if event else []


def test_a_message_recalls_what_it_is_about(alice: int) -> None:
    tea, car = remember(alice, "I like tea"), remember(alice, "My car is a blue Skoda Octavia")
    event = recall(alice, "What should I drink this afternoon?", ())
    assert event is not None and [item.id for item in event.items] == [tea.pk]
    (item,) = event.items
    assert (item.text, item.is_kept, event.num_considered) == ("I like tea", False, 2)
    assert THRESHOLD <= item.similarity < 1 and event.threshold == THRESHOLD
    assert found_ids(alice, "Which car do I drive?") == [car.pk]
    assert found_ids(alice, "Who won the world cup in 1998?") == []


def test_a_recalled_memory_stays_in_the_conversation_until_it_is_disabled_or_deleted(alice: int) -> None:
    tea, car = remember(alice, "I like tea"), remember(alice, "My car is a blue Skoda Octavia")
    assert found_ids(alice, "Which car do I drive?", (tea.pk,)) == [tea.pk, car.pk]
    change(car, is_enabled=False)
    assert found_ids(alice, "Which car do I drive?", (tea.pk, car.pk)) == [tea.pk]
    delete(Memory.objects.filter(pk=tea.pk), alice)
    assert recall(alice, "What should I drink?", (tea.pk, car.pk)) is None


def test_nothing_is_recalled_while_memory_is_off(alice: int) -> None:
    remember(alice, "I like tea")
    choose_mode(alice, "off")
    assert recall(alice, "What should I drink?", ()) is None
    choose_mode(alice, "on")
    assert recall(alice, "What should I drink?", ()) is not None


def test_nobody_recalls_anothers_memory(alice: int) -> None:
    bob = User.objects.create_user("bob").pk
    tea = remember(alice, "I like tea")
    remember(bob, "My car is a blue Skoda Octavia")
    assert found_ids(bob, "What should I drink? I like tea", (tea.pk,)) == []
    assert [found.memory.user_id for found in search(bob, "I like tea", 10)] == [bob]


def test_a_deleted_memory_is_found_no_more_even_where_another_process_deleted_it(alice: int) -> None:
    tea, coffee = remember(alice, "I like tea"), remember(alice, "I like coffee")
    assert len(search(alice, "tea", 10)) == 2
    # Another process deletes the row and cannot reach the vectors that this one keeps.
    Memory.objects.filter(pk=tea.pk).delete()
    assert [found.memory.pk for found in search(alice, "tea", 10)] == [coffee.pk]
    assert found_ids(alice, "I like tea", (tea.pk,)) == [coffee.pk]


def test_an_edited_memory_is_found_by_its_new_text(alice: int) -> None:
    memory = remember(alice, "I like tea")
    assert found_ids(alice, "What should I drink?") == [memory.pk]
    change(memory, text="My car is a blue Skoda Octavia")
    assert found_ids(alice, "What should I drink?") == []
    assert found_ids(alice, "Which car do I drive?") == [memory.pk]


def test_a_long_memory_is_found_by_its_beginning(alice: int) -> None:
    memory = remember(alice, "I like tea. " + "word " * 300)
    assert search(alice, "I like tea", 1)[0].memory == memory
