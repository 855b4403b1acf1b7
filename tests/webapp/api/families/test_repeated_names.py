"""A body with a name that stands twice in an object is refused in the family's form, and begins nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.api.families.calls import BODIES
from webapp.ground.gateway.json_faults import has_repeated_name, repeated_name
from webapp.identity.keys.keys import create
from webapp.requests.models import Request


@pytest.fixture
def alice(redis_client: object) -> Client:
    key = create(User.objects.create_user("alice").pk, "test")
    return Client(headers={"x-api-key": key.secret})


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("name", ['"model"', '"mo\\u0064el"'])
def test_it_is_refused_in_the_familys_form(alice: Client, path: str, name: str) -> None:
    body = json.dumps(BODIES[path])
    answer = alice.post(path, f'{body[:-1]},\n{name}: "another"}}', content_type="application/json")
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
    assert 'line 2, character 1: the name "model" stands twice in an object' in error["message"]
    assert not Request.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_one_within_a_field_that_changes_nothing_is_refused_too(alice: Client) -> None:
    body = '{"model": "all-minilm-l6-v2", "input": "Hi", "metadata": [{"a": 1, "a": 2}]}'
    assert alice.post("/v1/embeddings", body, content_type="application/json").status_code == 400


NAMES = st.sampled_from(["a", 'b"', "\\", "ä", ":", "{", ""])
VALUE = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.just('":{"'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(VALUE, st.booleans())
def test_a_text_without_one_has_none(value: Any, is_ascii: bool) -> None:
    assert not has_repeated_name(json.dumps(value, ensure_ascii=is_ascii).encode())


@given(NAMES, VALUE, VALUE, st.integers(0, 3))
def test_one_is_found_at_every_depth_with_its_place(name: str, one: Any, other: Any, depth: int) -> None:
    twice = f"{json.dumps(name)}: {json.dumps(one)},\n{json.dumps(name)}: {json.dumps(other)}"
    data = ('{"x": [' * depth + f"{{{twice}}}" + "]}" * depth).encode()
    assert has_repeated_name(data)
    assert repeated_name(data).startswith("line 2, character 1: ")


def test_a_number_of_any_length_is_no_fault() -> None:
    assert not has_repeated_name(b'{"a": ' + b"9" * 5000 + b"}")
