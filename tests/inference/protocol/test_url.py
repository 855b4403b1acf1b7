"""A URL has the same parts under every Python, and its secrets are quoted nowhere."""

from __future__ import annotations

import pytest

from inference.protocol.url import BadUrl, Node, parse_url


def test_a_url_has_all_its_parts() -> None:
    found = parse_url("SMTPS://ann:a%2Fb@Mail.Example.org:465/path?from=x@y&z=1#end")
    assert (found.scheme, found.host, found.port) == ("smtps", "mail.example.org", 465)
    assert (found.user, found.password, found.authority) == ("ann", "a/b", "Mail.Example.org:465")
    assert (found.path, found.query, found.fragment) == ("/path", "from=x@y&z=1", "end")


def test_secrets_are_not_part_of_its_description() -> None:
    assert "secret" not in repr(parse_url("http://ann:secret@host/path?key=secret"))


@pytest.mark.parametrize(
    ("url", "nodes"),
    [
        ("unix:///run/redis.sock", ()),
        ("http://host:", (Node("host", None),)),
        ("http://[::1]:5/", (Node("::1", 5),)),
        ("http://[FE80::1%eth0]/", (Node("fe80::1%eth0", None),)),
        ("http://exämple.org/", (Node("exämple.org", None),)),
        ("postgres://%2Frun%2Fpg/name", (Node("%2frun%2fpg", None),)),
        ("sentinel://ann:a%2Fb@one,[::1]:5/main", (Node("one", None), Node("::1", 5))),
        ("sentinel://[::1],[::2]:5,two:65535/main", (Node("::1", None), Node("::2", 5), Node("two", 65535))),
    ],
)
def test_hosts_are_names_and_addresses_of_both_kinds(url: str, nodes: tuple[Node, ...]) -> None:
    found = parse_url(url)
    assert found.nodes == nodes
    assert (found.host, found.port) == ((nodes[0].host, nodes[0].port) if len(nodes) == 1 else ("", None))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host",
        "localhost:6379",
        "//host",
        " http://host",
        "\thttp://host",
        "http://ho\nst",
        "http://host:port",
        "http://host:65536",
        "http://host:-1",
        "http://host:٣",
        "http://ho st",
        "http://one,,two",
        "http://::1/",
        "http://[::1",
        "http://::1]",
        "http://[::1]x/",
        "http://x[::1]/",
        "http://[127.0.0.1]/",
        "http://[v1.a]/",
        "http://[]/",
        "http://ann:p[a]ss@host/",
        "http://ann:p[ass@host/",
        "http://ex℀mple.org/",
        "http://host＠evil.example/",
        "http://ann:secret@host:port",
    ],
)
def test_a_text_that_is_no_url_of_a_server_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(BadUrl) as refused:
        parse_url(url)
    assert "secret" not in str(refused.value) and refused.value.__cause__ is None


def test_a_user_without_a_name_is_no_missing_one() -> None:
    assert parse_url("http://@host").credentials == ""
    assert parse_url("http://host/@").credentials is None
