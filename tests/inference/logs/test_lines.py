"""A line of JSON holds what happened and to which request, and nothing that a library adds."""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime
from typing import Any

import pytest

from inference.logs.lines import JsonFormatter, parse_log_format, process_name
from inference.logs.request import about, name_request, named_request
from webapp.private_log import PrivateJsonFormatter


def line(formatter: logging.Formatter, message: str, *args: object, **extra: Any) -> dict[str, Any]:
    record = logging.getLogger("some.logger").makeRecord(
        "some.logger", logging.WARNING, "", 1, message, args, sys.exc_info() if sys.exception() else None, extra=extra
    )
    text = formatter.format(record)
    assert "\n" not in text and text.isascii()
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_line_has_its_fields_and_no_others() -> None:
    found = line(JsonFormatter("web"), "gave up %s", "it", args_of_a_task=["a prompt"], request="GET /?text=prompt")
    assert datetime.fromisoformat(found.pop("time")).tzinfo is not None
    assert found == {"level": "WARNING", "logger": "some.logger", "message": "gave up it", "process": "web"}


def test_our_own_fields_are_told() -> None:
    assert line(JsonFormatter("web"), "x", told={"status": 200, "method": None})["status"] == 200
    assert "method" not in line(JsonFormatter("web"), "x", told={"method": None})


def test_the_request_is_named_where_one_is_at_hand() -> None:
    formatter = JsonFormatter("web")
    assert "request_id" not in line(formatter, "x")
    with about("req_1"):
        assert line(formatter, "x")["request_id"] == "req_1"
    assert named_request() is None
    name_request("req_2")
    assert line(formatter, "x")["request_id"] == "req_2"
    name_request(None)
    assert "request_id" not in line(formatter, "x")


def test_no_character_breaks_a_line() -> None:
    assert line(JsonFormatter("web"), "%s", 'a\n"b"\x00\udcff\u2028é')["message"] == 'a\n"b"\x00\udcff\u2028é'


def test_secrets_in_addresses_stay_out_of_every_field() -> None:
    try:
        raise ValueError('no view for "/shared/s3cret"')
    except ValueError:
        found = line(PrivateJsonFormatter("web"), 'Not Found: "/signin/s3cret"', told={"path": "/shared/s3cret"})
    assert "s3cret" not in json.dumps(found)
    assert found["message"] == 'Not Found: "/signin/***"'
    assert found["exception"].endswith('no view for "/shared/***"')


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["/x/celery/__main__.py", "-A", "webapp", "worker", "-n", "lifecycle@%h", "-Q", "prepare"], "lifecycle"),
        (["/app/webapp/serve.py", "-b", "127.0.0.1", "webapp.asgi:application"], "web"),
        (["manage.py", "migrate", "--verbosity", "0"], "migrate"),
        (["manage.py"], "manage.py"),
        (["-c"], "-c"),
        ([], ""),
    ],
)
def test_a_process_has_the_name_that_its_command_gives_it(arguments: list[str], name: str) -> None:
    assert process_name(arguments) == name


def test_an_unknown_format_ends_the_process_with_one_line() -> None:
    assert (parse_log_format(None), parse_log_format(""), parse_log_format("json")) == ("line", "line", "json")
    with pytest.raises(SystemExit, match=r"SIGHTGLASS_LOG_FORMAT is 'xml'; use one of line, json\.$"):
        parse_log_format("xml")
