"""Small PDF and DOCX files, made for the tests."""

import io

import docx


def pdf(text: str) -> bytes:
    """Return a PDF of one page with `text` on it."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table, len(objects) + 1, len(body))
    )


def word_document(heading: str, paragraph: str, cells: list[str]) -> bytes:
    """Return a DOCX with a heading, a paragraph and a table of one row."""
    document = docx.Document()
    document.add_heading(heading, level=2)
    document.add_paragraph(paragraph)
    row = document.add_table(rows=1, cols=len(cells)).rows[0]
    for cell, text in zip(row.cells, cells, strict=True):
        cell.text = text
    saved = io.BytesIO()
    document.save(saved)
    return saved.getvalue()
