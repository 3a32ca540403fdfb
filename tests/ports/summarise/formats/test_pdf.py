"""PDF files, made by hand: objects, a table of their places, a trailer."""

import pytest

from gcs.core.page.values import Document
from gcs.ports.reader import Summarisers
from gcs.ports.summarise import Options, Source
from gcs.ports.summarise.formats.pdf import summarise_pdf
from gcs.ports.summarise.text_pool import TextPool


def pdf(*texts: str, title: str = "", link: str = "") -> bytes:
    """A PDF file with one line of text a page, and a link on each."""
    annotation = f"/Annots [<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI ({link}) >> >>]"
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(texts)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(texts)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for at, text in enumerate(texts):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * at} 0 R {annotation if link else ''} >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    objects.append(f"<< /Title ({title}) >>")
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    ).encode()


def read_pdf(content: bytes, depth: str = "full") -> Document:
    return Summarisers().summarise(content, "application/pdf", "http://x/", depth, Options())


@pytest.mark.parametrize("depth", ["links", "fast", "full"])
def test_pdf_has_title_links_pages_and_text(depth: str) -> None:
    content = pdf(
        "The URL tree has hot tokens.", "Superpages are ranges.", title="Trees", link="https://trees.example/a"
    )
    document = read_pdf(content, depth)
    assert document.title == "Trees"
    assert document.description == "PDF document, 2 pages"
    assert document.text == ("" if depth == "links" else "The URL tree has hot tokens.\nSuperpages are ranges.")
    assert document.hrefs == ["https://trees.example/a"] * 2


def test_no_more_text_is_taken_than_asked_for() -> None:
    document = summarise_pdf(
        Source(pdf(*["words " * 20] * 50), "application/pdf", "http://x/", "full", Options(max_text_bytes=500))
    )
    assert 400 < len(document.text) <= 500 + 2 * 50


async def test_the_text_pool_reads_pdf_and_survives_what_is_none() -> None:
    pool = TextPool(1)
    try:
        found = await pool.submit(pdf("Read in a process of its own."), "application/pdf", "http://x/")
        assert (found.document.text, found.note) == ("Read in a process of its own.", "")
        broken = await pool.submit(b"%PDF-1.7\nnothing that a PDF has", "application/pdf", "http://x/")
        assert (broken.document.text, bool(broken.note)) == ("", True)
    finally:
        await pool.close()


def test_damage_costs_the_text_and_nothing_else() -> None:
    content = pdf("Some words.")
    for end in range(0, len(content), 25):
        assert isinstance(read_pdf(content[:end]), Document)
