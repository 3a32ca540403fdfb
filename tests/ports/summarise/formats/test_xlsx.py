"""Excel workbooks, made by openpyxl."""

import io
from datetime import datetime

from openpyxl import Workbook

from gcs.ports.reader import Summarisers
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


def test_xlsx_bears_damage() -> None:
    bears_damage(workbook(), XLSX)
