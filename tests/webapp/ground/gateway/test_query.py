"""An operation of the site's API refuses a parameter that it does not take."""

from __future__ import annotations

from typing import ClassVar

import pytest
from django.test import RequestFactory

from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.query import check_names
from webapp.ground.gateway.structs import Query


class Wanted(Query):
    model: str = ""
    user: int | None = None


class Judged(Query):
    takes_others: ClassVar[bool] = True


def refusal(query: str, kind: type[Query] | None) -> ApiError:
    with pytest.raises(ApiError) as refused:
        check_names(RequestFactory().get(f"/api/x?{query}"), kind)
    return refused.value


@pytest.mark.parametrize(
    ("query", "kind", "message"),
    [
        (
            "modle=m",
            Wanted,
            "There is no parameter modle. Do you mean model? This address takes: model, user.",
        ),
        (
            "user=7&zzz=",
            Wanted,
            "There is no parameter zzz. Remove it or check its spelling. This address takes: model, user.",
        ),
        ("page=2", None, "There is no parameter page; this address takes none. Remove it."),
    ],
)
def test_an_unknown_parameter_is_named_with_those_that_exist(
    query: str, kind: type[Query] | None, message: str
) -> None:
    refused = refusal(query, kind)
    assert (refused.status, refused.code, str(refused)) == (400, "invalid", message)
    assert refused.field and refused.field in query


@pytest.mark.parametrize(("query", "kind"), [("", None), ("model=&user=7", Wanted), ("anything=1", Judged)])
def test_known_parameters_and_those_that_the_operation_judges_pass(query: str, kind: type[Query] | None) -> None:
    check_names(RequestFactory().get(f"/api/x?{query}"), kind)
