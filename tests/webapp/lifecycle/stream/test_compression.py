"""Compression over a real connection: which answers, for which clients, and their cache headers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import httpx
import pytest
import zstandard

from tests.webapp.lifecycle.stream.conftest import Site

pytestmark = pytest.mark.slow

SCRIPT = "/static/app/assets/main-Ab_c-123.js"
CONTENT = {"": b"script" * 200, ".br": b"made by Brotli", ".gz": gzip.compress(b"script" * 200)}
PLAIN = "/static/app/about.txt"


@pytest.fixture(scope="module")
def served(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    data = tmp_path_factory.mktemp("site")
    folder = data / "static" / "app" / "assets"
    folder.mkdir(parents=True)
    for ending, content in CONTENT.items():
        (folder / f"main-Ab_c-123.js{ending}").write_bytes(content)
    (folder.parent / "about.txt").write_bytes(b"Its name has no hash.")
    running = Site(data, redis_url)
    running.sign_in()
    yield running
    running.close()


def get(site: Site, address: str, accepted: str, **headers: str) -> tuple[httpx.Response, bytes]:
    """The answer, and its body as it came."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    with site.client.stream("GET", address, headers={"Accept-Encoding": accepted} | more) as response:
        return response, b"".join(response.iter_raw())


@pytest.mark.parametrize(
    ("accepted", "coding", "ending"),
    [("gzip, deflate, br, zstd", "br", ".br"), ("gzip", "gzip", ".gz"), ("identity", None, "")],
)
def test_a_hashed_file_comes_as_the_client_takes_it_and_is_kept_for_good(
    served: Site, accepted: str, coding: str | None, ending: str
) -> None:
    response, body = get(served, SCRIPT, accepted)
    assert (body, response.headers.get("Content-Encoding")) == (CONTENT[ending], coding)
    assert response.headers["Vary"] == "Accept-Encoding"
    assert "immutable" in response.headers["Cache-Control"]
    assert int(response.headers["Cache-Control"].partition("max-age=")[2].partition(",")[0]) >= 31_536_000


def test_a_file_without_a_hash_is_asked_for_anew_by_its_etag(served: Site) -> None:
    response, _ = get(served, PLAIN, "gzip")
    assert response.headers["Cache-Control"] == "max-age=0, public"
    again, body = get(served, PLAIN, "gzip", If_None_Match=response.headers["ETag"])
    assert (again.status_code, body) == (304, b"")


def test_the_tokenizer_is_compressed_and_kept_by_the_address_that_the_session_names(served: Site) -> None:
    address = served.client.get("/api/session").json()["models"][0]["tokenizer_url"]
    response, body = get(served, address, "gzip, zstd")
    assert response.headers["Content-Encoding"] == "zstd"
    plain = zstandard.ZstdDecompressor().decompress(body, max_output_size=1 << 26)
    assert json.loads(plain)["model"]["vocab"]
    assert len(body) < len(plain) / 2
    assert "immutable" in response.headers["Cache-Control"]
    again, body = get(served, address, "gzip", If_None_Match=response.headers["ETag"])
    assert (again.status_code, body) == (304, b"")


def test_another_address_of_the_tokenizer_is_not_kept(served: Site) -> None:
    address = served.client.get("/api/session").json()["models"][0]["tokenizer_url"].partition("?")[0]
    for old in (address, f"{address}?v=0123456789abcdef"):
        assert get(served, old, "gzip")[0].headers["Cache-Control"] == "private, no-cache"


@pytest.fixture(scope="module")
def long_answer(served: Site) -> str:
    """The address of a JSON answer of more than a packet."""
    made = served.client.post("/api/conversations", json={"system_prompt": "Be brief. " * 300})
    return f"/api/conversations/{made.json()['id']}"


@pytest.mark.parametrize("accepted", ["gzip", "br;q=1, gzip;q=0.5", "zstd;q=0, gzip"])
def test_long_json_is_compressed(served: Site, long_answer: str, accepted: str) -> None:
    response, body = get(served, long_answer, accepted)
    assert response.headers["Content-Encoding"] == "gzip"
    assert len(body) == int(response.headers["Content-Length"]) < 600
    assert json.loads(gzip.decompress(body))["system_prompt"].startswith("Be brief.")
    assert "Accept-Encoding" in response.headers["Vary"]


@pytest.mark.parametrize("accepted", ["", "identity", "gzip;q=0", "gzip;q=x", "br"])
def test_a_client_that_takes_nothing_of_ours_gets_it_plain(served: Site, long_answer: str, accepted: str) -> None:
    response, body = get(served, long_answer, accepted)
    assert "Content-Encoding" not in response.headers
    assert json.loads(body)["system_prompt"]


@pytest.mark.parametrize("asker", ["cross-site", "same-site"])
def test_what_another_site_s_page_asks_for_does_not_tell_by_its_length(
    served: Site, long_answer: str, asker: str
) -> None:
    response, _ = get(served, long_answer, "gzip", Sec_Fetch_Site=asker)
    assert "Content-Encoding" not in response.headers


def test_a_short_answer_a_page_and_a_stream_go_out_as_they_are(served: Site) -> None:
    request = served.request()
    served.write(request, ["text " * 1000])
    for address in ("/api/requests/tags", "/accounts/login/"):
        assert "Content-Encoding" not in get(served, address, "gzip")[0].headers
    headers = {"Accept-Encoding": "gzip"}
    with served.client.stream("GET", f"/api/requests/{request}/events", headers=headers) as response:
        assert "Content-Encoding" not in response.headers
        # It comes although the stream has not ended.
        assert any("text text" in line for line in response.iter_lines())
