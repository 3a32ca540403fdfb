"""Excel workbooks (xlsx, xlsm): the names of the sheets and their cells, row by row; links, properties."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.formats import document_of
from gcs.ports.summarise.formats.zip_package import ZipPackage
from gcs.ports.summarise.xml_stream import local_name

_WORKBOOK, _STRINGS = "xl/workbook.xml", "xl/sharedStrings.xml"
#: sheets that are read, and cells of a row
_MAX_SHEETS, _MAX_CELLS = 100, 1_000
_OFFICE = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def summarise_xlsx(source: Source) -> Document:
    package = ZipPackage(source.content)
    properties = package.properties()
    parts = package.targets(_WORKBOOK, "worksheet")
    sheets = [
        (sheet.get("name") or "", parts[sheet.get(_OFFICE) or ""])
        for sheet in islice(package.elements(_WORKBOOK, "sheet"), _MAX_SHEETS)
        if (sheet.get(_OFFICE) or "") in parts
    ]
    hrefs = [url for _, part in sheets for url in package.targets(part, "hyperlink").values()]
    return document_of(
        source,
        _lines(package, sheets, source.options.max_text_bytes) if source.depth != "links" else (),
        hrefs,
        title=properties.get("title") or ", ".join(name for name, _ in sheets),
        description=properties.get("description") or properties.get("subject", ""),
        language=properties.get("language", ""),
    )


def _lines(package: ZipPackage, sheets: list[tuple[str, str]], most: int) -> Iterator[str]:
    strings = [_runs(entry) for entry in package.elements(_STRINGS, "si")]
    for name, part in sheets:
        yield name
        for row in package.elements(part, "row"):
            yield _row(row, strings, most)


def _row(row: Any, strings: list[str], most: int) -> str:
    """The text of a row, of so many letters at most: each cell may name the same shared string, of megabytes."""
    cells: list[str] = []
    room = most
    for cell in islice(row, _MAX_CELLS):
        if text := _cell(cell, strings)[:room]:
            cells.append(text)
            room -= len(text)
        if room <= 0:
            break
    return "\t".join(cells)


def _cell(cell: Any, strings: list[str]) -> str:
    kind = cell.get("t") or "n"
    if kind == "inlineStr":
        return _runs(cell)
    value = next((each.text or "" for each in cell if local_name(each) == "v"), "").strip()
    if kind == "s":
        return strings[int(value)] if value.isdecimal() and len(value) < 9 and int(value) < len(strings) else ""
    return value


def _runs(element: Any) -> str:
    """The text of a string, without the phonetic hints of Japanese."""
    return "".join(
        each.text or "" for each in element.iter() if local_name(each) == "t" and local_name(each.getparent()) != "rPh"
    )
