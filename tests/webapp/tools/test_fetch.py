"""The fetch tool reads what the operator allows, and nothing else: neither by names, by addresses nor by redirects."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.conf import LazySettings

from inference.protocol.tool_calls import Call
from webapp.tools.catalog import offered, run
from webapp.tools.fetch import Fetcher
from webapp.tools.tool import Asker, ToolError

ASKER = Asker("req_" + "t" * 22, 1)


@dataclass
class Site:
    """A server on this machine, and the requests that reached it."""

    port: int
    seen: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def fetcher(self, host: str = "localhost", found: str = "127.0.0.1") -> Fetcher:
        """A fetcher that may read this server."""
        return Fetcher([f"{host}:{self.port}={found}"], lambda *_: [found])

    def url(self, path: str, host: str = "localhost") -> str:
        return f"http://{host}:{self.port}{path}"


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            own.seen.append(self.path)
            own.hosts.append(self.headers["Host"])
            answer(self, own)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    own = Site(server.server_port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield own
    own.is_over.set()
    server.shutdown()
    server.server_close()


PAGE = b"<html><head><title>t</title></head><body><h1>Head</h1><script>alert(1)</script><p>A &amp; b</p></body></html>"


def answer(handler: BaseHTTPRequestHandler, site: Site) -> None:
    path, _, rest = handler.path.partition("?")
    if path == "/to":
        handler.send_response(302)
        handler.send_header("Location", rest)
        handler.end_headers()
        return
    if path == "/silent":
        site.is_over.wait(60)
        return
    handler.send_response(200)
    handler.send_header("Content-Type", {"/page": "text/html", "/picture": "image/png"}.get(path, "text/plain"))
    if path == "/compressed":
        handler.send_header("Content-Encoding", "gzip")
    handler.end_headers()
    if path == "/huge":
        with_patience(handler, b"x" * 65536, 10_000)
    elif path == "/slow":
        while not site.is_over.wait(0.05):
            handler.wfile.write(b"x")
    else:
        handler.wfile.write(PAGE if path == "/page" else b"A text.")


def with_patience(handler: BaseHTTPRequestHandler, chunk: bytes, times: int) -> None:
    try:
        for _ in range(times):
            handler.wfile.write(chunk)
    except OSError:
        pass


def test_a_text_is_read_from_the_checked_address_by_its_name(site: Site) -> None:
    assert site.fetcher().fetch(site.url("/text")) == "200, text/plain\nA text."
    assert site.hosts == [f"localhost:{site.port}"]


def test_a_page_is_read_as_its_text(site: Site) -> None:
    assert site.fetcher().fetch(site.url("/page")) == "200, text/html\nHead\nA & b"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://127.1:{port}/",
        "http://2130706433:{port}/",
        "http://0x7f000001:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://localhost.:{port}/",
        "http://localhost:1/",
        "http://example.org@localhost:{port}/",
        "http://localhost:{port}@example.org/",
        "https://example.org/",
        "file:///etc/passwd",
        "gopher://localhost:{port}/",
        "//localhost:{port}/",
        "localhost",
        "http://",
        "",
        "http://localhost:{port}/" + "a" * 600,
    ],
)
def test_what_is_not_allowed_is_not_reached(site: Site, url: str) -> None:
    with pytest.raises(ToolError):
        site.fetcher().fetch(url.format(port=site.port))
    assert site.seen == []


@pytest.mark.parametrize(
    "found",
    ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0", "64:ff9b::7f00:1", "fd00::1"],
)
def test_an_allowed_name_may_not_lead_to_an_internal_address(site: Site, found: str) -> None:
    fetcher = Fetcher([f"host.example:{site.port}"], lambda *_: [found])
    with pytest.raises(ToolError, match="no public address"):
        fetcher.fetch(site.url("/text", "host.example"))
    assert site.seen == []


def test_an_internal_host_may_have_its_own_address_alone(site: Site) -> None:
    fetcher = replace(site.fetcher(found="10.0.0.5"), resolved=lambda *_: ["127.0.0.1"])
    with pytest.raises(ToolError, match="no public address"):
        fetcher.fetch(site.url("/text"))
    assert site.seen == []


def test_a_name_that_is_resolved_again_to_another_address_is_not_followed(site: Site) -> None:
    """The connection is made to the checked address, on which nothing listens; the name is asked for once."""
    answers = iter([["192.88.99.1"], ["127.0.0.1"]])
    fetcher = Fetcher([f"localhost:{site.port}"], lambda *_: next(answers), most_s=2)
    with pytest.raises(ToolError):
        fetcher.fetch(site.url("/text"))
    assert site.seen == [] and next(answers) == ["127.0.0.1"]


def test_one_bad_address_of_several_is_enough(site: Site) -> None:
    fetcher = Fetcher([f"localhost:{site.port}"], lambda *_: ["8.8.8.8", "127.0.0.1"])
    with pytest.raises(ToolError, match="no public address"):
        fetcher.fetch(site.url("/text"))


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:{port}/text", "http://169.254.169.254/", "//example.org/", "file:///etc/passwd"]
)
def test_a_redirect_leads_to_no_other_host(site: Site, target: str) -> None:
    with pytest.raises(ToolError):
        site.fetcher().fetch(site.url("/to?" + target.format(port=site.port)))
    assert len(site.seen) == 1


def test_a_redirect_within_the_host_is_followed_a_few_times(site: Site) -> None:
    assert site.fetcher().fetch(site.url("/to?/text")).endswith("A text.")
    with pytest.raises(ToolError, match="leads on"):
        site.fetcher().fetch(site.url("/to?/to?/to?/to?/to?/text"))


def test_a_huge_text_is_cut_off(site: Site) -> None:
    text = replace(site.fetcher(), most_bytes=100_000).fetch(site.url("/huge"))
    assert len(text) < 101_000 and "cut off after" in text


@pytest.mark.parametrize("path", ["/slow", "/silent"])
def test_a_slow_answer_is_given_up(site: Site, path: str) -> None:
    with pytest.raises(ToolError, match="within 1 s"):
        replace(site.fetcher(), most_s=1.0).fetch(site.url(path))


@pytest.mark.parametrize("path", ["/picture", "/compressed"])
def test_what_is_no_plain_text_is_refused(site: Site, path: str) -> None:
    with pytest.raises(ToolError):
        site.fetcher().fetch(site.url(path))


def test_the_tool_is_offered_where_the_operator_allows_a_host(site: Site, settings: LazySettings) -> None:
    call = Call("fetch", json.dumps({"url": site.url("/text")}))
    assert "fetch" not in [tool.definition.name for tool in offered()]
    assert run(call, ASKER).text == "There is no tool 'fetch'."
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, fetch_hosts=[f"localhost:{site.port}=127.0.0.1"])
    assert "fetch" in [tool.definition.name for tool in offered()]
    found = run(call, ASKER)
    assert found.text == "200, text/plain\nA text." or "no public address" in found.text  # ::1 may come first
