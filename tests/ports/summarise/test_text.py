"""Mail and news: the part that a person reads. PDF files, made by hand: objects, a table of their places, a trailer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.values import Document
from gcs.ports.reader import Summarisers
from gcs.ports.summarise import Options, Source
from gcs.ports.summarise.text import summarise_pdf
from gcs.ports.summarise.text_pool import TextPool

PLAIN = b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nContent-Type: text/plain; charset=latin-1\n\nSch\xf6n hier.\n"
BOTH = b"""Subject: Offer
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=x

--x
Content-Type: text/html; charset=utf-8

<p>Read <a href="https://example.org/more">more</a></p>
--x
Content-Type: image/png
Content-Transfer-Encoding: base64

AAAA
--x--
"""


def read_mail(content: bytes) -> Document:
    """As `summarise` would, but for what it hides."""
    return Summarisers().read(Source(content, "message/rfc822", "", "fast", Options()))


def test_plain_text_and_subject_are_decoded() -> None:
    document = read_mail(PLAIN)
    assert (document.title, document.text) == ("Grüße", "Schön hier.")


def test_links_of_a_page_in_a_message_are_followed() -> None:
    document = read_mail(BOTH)
    assert (document.title, document.hrefs) == ("Offer", ["https://example.org/more"])


@given(st.binary())
def test_no_message_can_raise(content: bytes) -> None:
    read_mail(content)


@pytest.mark.parametrize("broken", [b"Content-Type: text/plain; charset=nonsense\n\nx", b"Subject: \xff\xfe\n\nx", b""])
def test_broken_messages_say_what_they_can(broken: bytes) -> None:
    assert read_mail(broken).hrefs == []


def pdf(*texts: str, title: str = "") -> bytes:
    """A PDF file with one line of text a page."""
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
            f"/Contents {5 + 2 * at} 0 R >>",
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


def test_text_and_title_are_read_where_all_is_to_be_read() -> None:
    content = pdf("The URL tree has hot tokens.", "Superpages are ranges.", title="Trees")
    document = summarise_pdf(Source(content, "application/pdf", "http://x/", "full", Options()))
    assert document.title == "Trees"
    assert document.text == "The URL tree has hot tokens.\n\nSuperpages are ranges."
    assert summarise_pdf(Source(content, "application/pdf", "http://x/", "fast", Options())) == Document(hrefs=[])


def test_no_more_text_is_taken_than_asked_for() -> None:
    document = summarise_pdf(
        Source(pdf(*["words " * 20] * 50), "application/pdf", "http://x/", "full", Options(max_text_bytes=500))
    )
    assert 400 < len(document.text) <= 500 + 2 * 50


async def test_the_text_pool_reads_pdf_and_survives_what_is_none() -> None:
    pool = TextPool(1)
    try:
        found = await pool.submit(pdf("Read in a process of its own."), "application/pdf", "http://x/")
        assert (found.text, found.note) == ("Read in a process of its own.", "")
        broken = await pool.submit(b"%PDF-1.7\nnothing that a PDF has", "application/pdf", "http://x/")
        assert (broken.text, bool(broken.note)) == ("", True)
    finally:
        await pool.close()


def test_damage_costs_the_text_and_nothing_else() -> None:
    content = pdf("Some words.")
    for end in range(0, len(content), 25):
        assert isinstance(read_pdf(content[:end]), Document)


@pytest.mark.parametrize("depth", ["links", "fast"])
def test_the_fetch_loop_is_not_kept_waiting(depth: str) -> None:
    assert read_pdf(pdf("Words."), depth).text == ""
