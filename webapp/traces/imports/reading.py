"""Reads an untrusted import as a whole: a trace in any of its forms, or an archive of traces. Pure."""

from __future__ import annotations

from webapp.traces.export.formats import decode_file
from webapp.traces.file import bundle, import_check
from webapp.traces.file.archive import TraceFileError


def problem_of(data: bytes) -> str | None:
    """Return the reason why the file cannot be imported; None if it can."""
    try:
        if data.startswith(bundle.MAGIC):
            _check_bundle(data)
        else:
            import_check.check(decode_file(data))
    except TraceFileError as error:
        return str(error)
    return None


def _check_bundle(data: bytes) -> None:
    """Check each trace, one in memory at a time. Raises TraceFileError."""
    for bundled, archive in bundle.read_bundle(data):
        try:
            import_check.check(archive)
        except TraceFileError as error:
            raise TraceFileError(f"{bundled.file}: {error}") from None
