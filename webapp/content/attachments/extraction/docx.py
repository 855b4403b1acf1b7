"""The text of a DOCX: its main part, paragraph by paragraph. Knows nothing of its process's limits.

The sizes that the archive declares are added up before any part is unpacked; zipfile refuses a part that is larger
than declared. Entities are never resolved: a part of a DOCX has no document type.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator

from lxml import etree

from webapp.content.attachments.extraction.unreadable import Unreadable

_MAX_ENTRIES = 5000
_MAX_UNPACKED = 256 << 20
_MAX_MAIN = 64 << 20
_MAIN = "word/document.xml"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_ENDS = {"p": "\n", "tc": "\t", "tr": "\n"}


def text_of(data: bytes) -> str:
    """Raises Unreadable."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check(archive)
            with archive.open(_MAIN) as main:
                return "".join(_pieces(main.read()))
    except KeyError:
        raise Unreadable("The file is a ZIP archive without a Word document. Attach its files one by one.") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise Unreadable(f"The DOCX is damaged: {error}.") from None
    except etree.LxmlError as error:
        raise Unreadable(f"The DOCX is damaged: {f'{error}'[:200]}.") from None
    except RuntimeError:  # zipfile's word for an archive with a password
        raise Unreadable("The DOCX has a password. Save it without one, then attach it.") from None


def _check(archive: zipfile.ZipFile) -> None:
    entries = archive.infolist()
    if len(entries) > _MAX_ENTRIES:
        raise Unreadable(f"The DOCX has {len(entries):,} parts; the limit is {_MAX_ENTRIES:,}.")
    num_bytes = sum(entry.file_size for entry in entries)
    if num_bytes > _MAX_UNPACKED or archive.getinfo(_MAIN).file_size > _MAX_MAIN:
        raise Unreadable(f"The DOCX unpacks to {num_bytes >> 20:,} MiB, which is more than may be read.")


def _pieces(xml: bytes) -> Iterator[str]:
    parsed = etree.iterparse(
        io.BytesIO(xml), events=("start", "end"), resolve_entities=False, load_dtd=False, no_network=True
    )
    for event, element in parsed:
        if element.getroottree().docinfo.doctype:
            raise Unreadable("The DOCX declares a document type, as no DOCX does. It may hide an attack.")
        name = _local(element.tag)
        if event == "end":
            yield _ending(name, element)
            element.clear()


def _local(tag: object) -> str:
    """The name of one of Word's own elements; empty: it is none."""
    if not isinstance(tag, str):
        return ""
    return next((tag.removeprefix(space) for space in (_W, _STRICT) if tag.startswith(space)), "")


def _ending(name: str, element: etree._Element) -> str:
    if name == "t":
        return element.text or ""
    return _BREAKS.get(name) or _ENDS.get(name, "")
