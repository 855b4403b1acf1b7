"""Reading a query: the texts that each kind of field takes, and the refusals."""

from __future__ import annotations

from typing import Literal

import pytest
from django.test import RequestFactory

from webapp.ground.gateway.body import read_query
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.structs import Query


class Asked(Query):
    """A query with a field of each kind."""

    form: Literal["json", "html"]
    is_short: bool = False


def read(query: str) -> Asked:
    return read_query(RequestFactory().get(f"/?{query}"), Asked)


def test_the_last_text_of_a_field_counts_and_an_empty_one_is_absent() -> None:
    assert read("form=html&form=json&is_short=&other=1") == Asked(form="json")
    assert read("form=json&is_short=true").is_short


@pytest.mark.parametrize(
    ("query", "field", "message"),
    [
        ("form=json&is_short=1", "is_short", "is_short must be true or false, not '1'."),
        ("form=json&is_short=TRUE", "is_short", "is_short must be true or false, not 'TRUE'."),
        ("form=json&is_short=perhaps", "is_short", "is_short must be true or false, not 'perhaps'."),
        ("form=pdf", "form", "form must be html or json, not 'pdf'."),
        ("is_short=true", "form", "form is missing."),
    ],
)
def test_a_wrong_or_missing_text_is_refused_by_name(query: str, field: str, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        read(query)
    error = refused.value
    assert (error.status, error.field, error.message) == (400, field, message)
