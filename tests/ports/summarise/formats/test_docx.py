"""Word documents, made by python-docx."""

import io

from docx import Document as Word
from docx.opc.constants import RELATIONSHIP_TYPE

from gcs.ports.reader import Summarisers
from tests.packages import repacked, xml_bomb

summarise = Summarisers().summarise
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
URL = "http://x/a.docx"


def word(title: str = "Tide tables of the harbour", link: str = "https://harbour.example/tides") -> bytes:
    document = Word()
    document.core_properties.title, document.core_properties.subject = title, "When the water is high"
    document.core_properties.author, document.core_properties.comments = "Ada Marsh", ""
    document.add_heading("High water", 1)
    document.add_paragraph("The tide comes in twice a day, and the ships wait for it in the outer harbour.")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Monday", "06:12"
    document.part.relate_to(link, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def test_docx_has_title_text_and_links() -> None:
    for content_type in (DOCX, "application/octet-stream", "application/zip", ""):
        document = summarise(word(), content_type, URL, "fast")
        assert document.title == "Tide tables of the harbour"
        assert document.description == "When the water is high"
        assert document.text.splitlines() == [
            "High water",
            "The tide comes in twice a day, and the ships wait for it in the outer harbour.",
            "Monday",
            "06:12",
        ]
        assert document.hrefs == ["https://harbour.example/tides"]
        assert document.language == "en"
        assert document.simhash


def test_docx_without_a_title_has_its_first_line() -> None:
    assert summarise(word(title=""), DOCX, URL, "links").title == "High water"


def test_docx_at_depth_links_has_no_text() -> None:
    document = summarise(word(), DOCX, URL, "links")
    assert (document.text, document.hrefs) == ("", ["https://harbour.example/tides"])


def test_docx_links_lead_to_the_web_only() -> None:
    assert summarise(word(link="file:///C:/secret.txt"), DOCX, URL, "fast").hrefs == []


def test_docx_with_an_xml_bomb_is_read_without_it() -> None:
    bomb = repacked(word(), {"word/document.xml": xml_bomb("<w:p xmlns:w='w'><w:r><w:t>Words&z;</w:t></w:r></w:p>")})
    assert summarise(bomb, DOCX, URL, "fast").text == "Words&z;"


def test_docx_that_unfolds_to_too_much_is_read_to_the_limit() -> None:
    body = b"<w:document xmlns:w='w'>" + b"<w:p><w:t>first</w:t></w:p>" + b" " * (300 << 20)
    assert summarise(repacked(word(), {"word/document.xml": body}), DOCX, URL, "fast").text == "first"
