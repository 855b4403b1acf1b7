"""The names of models: what users see, what stays the id, and each name that is refused."""

from __future__ import annotations

from typing import Any

import pytest
from auditlog.models import LogEntry
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from tests.webapp.api.models.test_prices import client_of, listed
from tests.webapp.usage.test_report import make_record, save
from webapp.models.billing.models import ModelName
from webapp.models.billing.naming import compared, model_names

pytestmark = pytest.mark.django_db
SERVED = settings.ENVIRONMENT.model_name


@pytest.fixture
def operator() -> Client:
    return client_of("olive", "view_price", "change_modelname")


@pytest.fixture
def other() -> str:
    """The id of a model that was used."""
    save(make_record(1, User.objects.create_user("alice"), timezone.now(), model="other-7b"))
    return "other-7b"


def name(client: Client, model: str, given: str, status: int = 204) -> dict[str, Any]:
    answer = client.put("/api/prices/names", {"model": model, "name": given}, "application/json")
    assert answer.status_code == status, answer.content
    return answer.json()["error"] if answer.content else {}


def test_users_see_the_name_and_programs_the_id(operator: Client, other: str) -> None:
    name(operator, SERVED, "  Small   & <b>fast</b> ")
    assert (listed(operator)["model"], listed(operator)["name"]) == (SERVED, "Small & <b>fast</b>")
    session = operator.get("/api/session").json()
    assert session["model_names"] == {SERVED: "Small & <b>fast</b>"}
    assert session["default_model"] == SERVED
    assert [(model["id"], model["name"]) for model in session["models"]] == [(SERVED, "Small & <b>fast</b>")]
    name(operator, other, "Large")
    assert listed(operator, other)["name"] == "Large"
    report = client_of("vera", "view_usagerecord").get("/api/usage/all").json()
    assert report["models"] == [{"key": other, "label": other}]


@pytest.mark.parametrize("given", ["", "   ", SERVED])
def test_an_empty_name_shows_the_id_again(operator: Client, given: str) -> None:
    name(operator, SERVED, "Fast")
    name(operator, SERVED, given)
    assert listed(operator)["name"] == SERVED
    assert model_names() == {}


def test_a_name_may_be_of_any_script_and_change_its_capitals(operator: Client) -> None:
    for given in ("Schnell für alle", "速い", "हिन्दी मॉडल", "ไทย", "GPT-like 7B (β)", "FAST", "fast"):
        name(operator, SERVED, given)
        assert listed(operator)["name"] == given


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("x" * 500, "at most 60 characters, not 500"),
        ("a\x00b", ""),
        ("a\nb", "U+000A"),
        ("a\tb", "U+0009"),
        ("a\x07b", "U+0007"),
        ("abc\u202etxt", "right-to-left override"),
        ("a\u2066b", "left-to-right isolate"),
        ("a\u200bb", "zero width space"),
        ("a\u2028b", "line separator"),
        ("a\u3164b", "hangul filler"),
        ("a\ufe0fb", "variation selector"),
        ("a\u00a0b", "no-break space"),
        ("Z" + "\u0335" * 9, "more than 3 marks"),
        ("\u2013\u2014", "no letter and no digit"),
        ("\ud800", ""),
    ],
)
def test_hostile_names_are_refused_with_the_reason(operator: Client, given: str, words: str) -> None:
    body = f'{{"model": "{SERVED}", "name": "{"".join(f"{chr(92)}u{ord(char):04x}" for char in given)}"}}'
    answer = operator.put("/api/prices/names", body, "application/json")
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]
    assert not ModelName.objects.exists()


@pytest.mark.parametrize("given", ["Fast One", "fast one", "ＦＡＳＴ ｏｎｅ", "FastOne", "ﬁne"])
def test_a_name_of_another_model_is_refused(operator: Client, other: str, given: str) -> None:
    name(operator, other, "fine" if given == "ﬁne" else "Fast one")
    error = name(operator, SERVED, given, 409)
    assert (error["code"], error["field"]) == ("conflict", "name")
    assert "Choose another name." in error["message"]


def test_the_id_of_another_model_is_no_name(operator: Client, other: str) -> None:
    assert "is the id of another model" in name(operator, SERVED, other.upper(), 409)["message"]


def test_only_known_models_are_named(operator: Client) -> None:
    assert name(operator, "nothing", "Fast", 400)["field"] == "model"


def test_names_that_look_alike_compare_as_one() -> None:
    assert compared("Ｆａｓｔ  One") == compared("fast one") == compared("FASTONE")
    assert compared("Straße") == compared("STRASSE")
    assert compared("Fast 1") != compared("Fast 2")


def test_each_change_is_in_the_audit_log(operator: Client) -> None:
    for given in ("Fast", "Faster", ""):
        name(operator, SERVED, given)
    entries = LogEntry.objects.filter(object_repr=SERVED, content_type__model="modelname").order_by("pk")
    assert [(entry.get_action_display(), entry.changes["name"]) for entry in entries] == [
        ("create", [None, "Fast"]),
        ("update", ["Fast", "Faster"]),
        ("delete", ["Faster", None]),
    ]
    assert {entry.actor.username for entry in entries if entry.actor} == {"olive"}


def test_naming_needs_its_permission(operator: Client) -> None:
    assert name(client_of("vera", "view_price", "change_price"), SERVED, "Fast", 403)["code"] == "forbidden"
