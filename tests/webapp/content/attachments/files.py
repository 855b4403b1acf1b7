"""Files to attach, as people and attackers make them."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence

from pypdf import PdfWriter
from reportlab.pdfgen.canvas import Canvas

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf(*pages: Sequence[str]) -> bytes:
    """A PDF with these lines on its pages."""
    file = io.BytesIO()
    canvas = Canvas(file)
    for lines in pages:
        for number, line in enumerate(lines):
            canvas.drawString(50, 800 - 16 * number, line)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def locked_pdf(algorithm: str) -> bytes:
    """A PDF that opens with a password alone."""
    writer, file = PdfWriter(), io.BytesIO()
    writer.append(io.BytesIO(pdf(["A secret."])))
    writer.encrypt("password", algorithm=algorithm)
    writer.write(file)
    return file.getvalue()


def scanned_pdf() -> bytes:
    """A PDF without any text."""
    writer, file = PdfWriter(), io.BytesIO()
    for _ in range(3):
        writer.add_blank_page(200, 200)
    writer.write(file)
    return file.getvalue()


def pdf_bomb(num_mb: int) -> bytes:
    """A PDF of some kB whose only page unpacks to so much."""
    packer = zlib.compressobj(9)
    content = b"".join(packer.compress(bytes(1 << 20)) for _ in range(num_mb)) + packer.flush()
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(content), content),
    ]
    body, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, part)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(body)
    return body + b"xref\n0 5\n0000000000 65535 f \n" + rows + end


def archive(**parts: bytes | str) -> bytes:
    """A ZIP file; `word_document_xml` is the part word/document.xml."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name.replace("_", "/", 1).replace("_", "."), content)
    return file.getvalue()


def docx(*paragraphs: str, head: str = "", padding: int = 0) -> bytes:
    """head: stands before the root. padding: MB of spaces, which hardly lengthen the file."""
    body = "".join(f"<w:p><w:r><w:t>{each}</w:t></w:r></w:p>" for each in paragraphs)
    spaces = " " * (padding << 20)
    return archive(word_document_xml=f"{head}<w:document {_WORD}><w:body>{body}{spaces}</w:body></w:document>")


def entity_bomb() -> bytes:
    """Ten entities, each ten times the one before: a billion words."""
    entities = '<!ENTITY e0 "word">' + "".join(
        f'<!ENTITY e{number} "{f"&e{number - 1};" * 10}">' for number in range(1, 10)
    )
    return docx("&e9;", head=f"<!DOCTYPE bomb [{entities}]>")


def reader_of_files() -> bytes:
    """A DOCX whose text would be a file of the server."""
    return docx("&own;", head='<!DOCTYPE own [<!ENTITY own SYSTEM "file:///etc/passwd">]>')
