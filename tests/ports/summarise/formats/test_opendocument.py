"""OpenDocument files, made by odfpy."""

import io

import pytest
from odf.dc import Title
from odf.opendocument import OpenDocumentPresentation, OpenDocumentSpreadsheet, OpenDocumentText
from odf.table import Table, TableCell, TableRow
from odf.text import A, H, P

from gcs.ports.reader import Summarisers
from tests.packages import bears_damage, repacked, xml_bomb

summarise = Summarisers().summarise


def saved(document) -> bytes:
    document.meta.addElement(Title(text="Of bees"))
    out = io.BytesIO()
    document.write(out)
    return out.getvalue()


def text_file() -> bytes:
    document = OpenDocumentText()
    document.text.addElement(H(outlinelevel=1, text="The hive"))
    paragraph = P(text="Bees fly out in the morning. See ")
    paragraph.addElement(A(href="https://bees.example/", text="their page"))
    document.text.addElement(paragraph)
    return saved(document)


def sheet_file() -> bytes:
    document = OpenDocumentSpreadsheet()
    table = Table(name="Honey")
    for cells in (("year", "kilos"), ("2025", "41")):
        row = TableRow()
        for text in cells:
            cell = TableCell()
            cell.addElement(P(text=text))
            row.addElement(cell)
        table.addElement(row)
    document.spreadsheet.addElement(table)
    return saved(document)


@pytest.mark.parametrize("content_type", ["application/vnd.oasis.opendocument.text", "application/zip", ""])
def test_odt_has_headings_paragraphs_and_links(content_type: str) -> None:
    document = summarise(text_file(), content_type, "http://x/a.odt", "fast")
    assert document.title == "Of bees"
    assert document.text == "The hive\nBees fly out in the morning. See their page"
    assert document.hrefs == ["https://bees.example/"]


def test_ods_has_a_line_for_each_row() -> None:
    assert summarise(sheet_file(), "", "http://x/a.ods", "fast").text == "year\tkilos\n2025\t41"


def test_odp_is_no_archive() -> None:
    assert summarise(saved(OpenDocumentPresentation()), "application/zip", "http://x/a.odp", "fast").title == "Of bees"


def test_odt_with_an_xml_bomb_is_read_without_it() -> None:
    bomb = repacked(text_file(), {"content.xml": xml_bomb("<t:p xmlns:t='t'>Words&z;</t:p>")})
    assert summarise(bomb, "", "http://x/a.odt", "fast").text == "Words&z;"


def test_opendocument_bears_damage() -> None:
    bears_damage(sheet_file(), "application/vnd.oasis.opendocument.spreadsheet")
