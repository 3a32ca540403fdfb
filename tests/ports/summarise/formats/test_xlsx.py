"""Excel workbooks, made by openpyxl."""

import io
from datetime import datetime

from openpyxl import Workbook

from gcs.ports.reader import Summarisers
from gcs.ports.summarise import DEFAULT
from tests.limits import memory_limit
from tests.packages import bears_damage, repacked

summarise = Summarisers().summarise
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
URL = "http://x/a.xlsx"


def workbook(title: str | None = "Cargo") -> bytes:
    book = Workbook()
    book.properties.title, book.properties.created = title, datetime(2026, 1, 2)
    sheet = book.active
    sheet.title = "Ships"
    sheet.append(["Name", "Tons"])
    sheet.append(["Esperanza", 1200])
    sheet["A2"].hyperlink = "https://ships.example/esperanza"
    book.create_sheet("Empty")
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_xlsx_has_sheets_rows_and_links() -> None:
    document = summarise(workbook(), XLSX, URL, "fast")
    assert document.title == "Cargo"
    assert document.text == "Ships\nName\tTons\nEsperanza\t1200\nEmpty"
    assert document.hrefs == ["https://ships.example/esperanza"]


def test_xlsx_is_no_archive_whatever_the_server_says() -> None:
    for content_type in ("application/zip", "application/octet-stream", ""):
        assert summarise(workbook(), content_type, URL, "fast").title == "Cargo"


def test_xlsx_without_a_title_is_called_as_its_sheets() -> None:
    assert summarise(workbook(None), XLSX, URL, "links").title == "Ships, Empty"


def test_xlsx_with_a_string_that_is_not_there_has_an_empty_cell() -> None:
    sheet = (
        b"<worksheet><sheetData><row><c t='s'><v>99999999999999</v></c><c><v>7</v></c></row></sheetData></worksheet>"
    )
    assert "Ships\n7" in summarise(repacked(workbook(), {"xl/worksheets/sheet1.xml": sheet}), XLSX, URL, "fast").text


def test_xlsx_whose_cells_all_name_one_long_string_stays_small() -> None:
    """9 KB took 6.7 GB."""
    strings = b"<sst><si><t>" + b"x" * 1_000_000 + b"</t></si></sst>"
    sheet = b"<worksheet><sheetData><row>" + b"<c t='s'><v>0</v></c>" * 500 + b"</row></sheetData></worksheet>"
    parts = {"xl/sharedStrings.xml": strings, "xl/worksheets/sheet1.xml": sheet}
    with memory_limit(50 << 20):
        document = summarise(repacked(workbook(), parts), XLSX, URL, "fast")
    assert document.text.startswith("Ships\nxxxx")
    assert len(document.text) == DEFAULT.max_text_bytes


def test_xlsx_of_too_many_tags_is_read_in_part() -> None:
    """A package of 17 KB can hold millions of tags, and each costs microseconds."""
    strings = b"<sst>" + b"<t/>" * 1_100_000
    sheet = b"<worksheet><sheetData><row><c><v>7</v></c></row></sheetData></worksheet>"
    parts = {"xl/sharedStrings.xml": strings, "xl/worksheets/sheet1.xml": sheet}
    assert summarise(repacked(workbook(), parts), XLSX, URL, "fast").text == "Ships\nEmpty"


def test_xlsx_bears_damage() -> None:
    bears_damage(workbook(), XLSX)
