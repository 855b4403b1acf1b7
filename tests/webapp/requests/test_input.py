"""Each kind of input survives the database, and so does a row from before messages named their kinds."""

from __future__ import annotations

import msgspec
import pytest
from django.contrib.auth.models import User
from django.db import connection

from tests.webapp.inputs import SAVED, asked
from webapp.ground.context.assemble import SourceMessage
from webapp.requests.input import ForkInput, NoInput, PlainInput, RequestInput, is_stepped
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db

MESSAGES = asked().messages
FORK = ForkInput(MESSAGES, (1, 2), is_written=True)


def saved(source: RequestInput) -> str:
    user, _ = User.objects.get_or_create(username="alice")
    return str(Request.objects.create(user=user, surface="chat", model="m", title="T", input=source).pk)


PLAIN = PlainInput((SourceMessage("user", "One, two,", "api:prompt", "user"),), (1, 2))


@pytest.mark.parametrize("source", [NoInput(), asked(), asked(is_stepped=True), FORK, SAVED, PLAIN])
def test_an_input_comes_back_as_it_was(source: RequestInput) -> None:
    assert Request.objects.get(pk=saved(source)).input == source


def test_requests_in_step_mode_are_counted_by_the_database() -> None:
    ids = [saved(source) for source in (asked(is_stepped=True), asked(), SAVED, NoInput())]
    assert list(Request.objects.filter(input__is_stepped=True).values_list("pk", flat=True)) == ids[:1]
    assert [is_stepped(Request.objects.get(pk=pk).input) for pk in ids] == [True, False, False, False]


def test_messages_of_before_that_name_no_kind_are_typed_by_their_place() -> None:
    pk = saved(NoInput())
    roles = [("system", False), ("user", False), ("assistant", False), ("user", False), ("user", True)]
    told = [{"role": role, "content": "c", "source": "s", "is_continued": part} for role, part in roles]
    told[2]["kind"], told[3]["kind"] = None, "result"
    written = msgspec.json.encode({"kind": "messages", "messages": told}).decode()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE lifecycle_request SET input = %s WHERE id = %s", [written, pk])
    found = Request.objects.get(pk=pk).input.messages
    assert [each.kind for each in found] == ["system", "history", "history", "result", "user"]
