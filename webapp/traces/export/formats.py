"""The file formats for export and import of a trace. Frames in, bytes out, and back; reads nothing but the built page
that an HTML file holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from inference.protocol.events import Frame
from webapp.traces.export.otel import to_otlp
from webapp.traces.export.perfetto import to_perfetto
from webapp.traces.file import archive
from webapp.traces.file.archive import Archive
from webapp.traces.file.htmlfile import decode_html, read_page, to_html
from webapp.traces.file.jsonfile import decode_json, encode_json


@dataclass(frozen=True)
class Format:
    """One kind of file."""

    suffix: str
    content_type: str
    encode: Callable[[Sequence[Frame], dict[str, Any]], bytes]
    """Encodes frames and the request's summary. Raises TraceFileError or PageNotBuilt."""


FORMATS = {
    "sgtrace": Format(".sgtrace", "application/octet-stream", archive.encode),
    "json": Format(".json", "application/json", encode_json),
    "html": Format(".html", "text/html; charset=utf-8", lambda frames, about: to_html(read_page(), frames, about)),
    "perfetto": Format(".perfetto.json", "application/json", lambda frames, _: to_perfetto(frames)),
    "otlp": Format(".otlp.json", "application/json", lambda frames, _: to_otlp(frames)),
}


def decode_file(data: bytes) -> Archive:
    """Decode a trace file, a JSON trace or a page, identified by its first byte. Raises TraceFileError."""
    read = {b"{": decode_json, b"<": decode_html}.get(data.lstrip()[:1], archive.decode)
    return read(data)
