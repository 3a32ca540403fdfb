"""Files as sinks: half lines, tables that exist."""

import csv
from pathlib import Path

import pytest

from gcs.errors import SettingsError
from gcs.ports.records.page import Page
from gcs.ports.sinks.file_sinks import CsvTable, JsonLines
from tests.ports.records.pages import record


def page(url: str, **changes: object) -> Page:
    return Page(record(url, **changes), "nowhere")


def test_half_line_of_a_killed_process_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    sink = JsonLines(str(file))
    sink.write([page("http://a.example/1")])
    sink.close()
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"id":"half' + b"x" * 100_000)
    sink = JsonLines(str(file))
    sink.write([page("http://a.example/2")])
    sink.close()
    assert file.read_bytes().startswith(whole) and len(file.read_bytes().splitlines()) == 2


def test_old_table_keeps_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "pages.csv"
    file.write_bytes(b"id,title,url,of_old\r\n1,One,http://a.example/1,x\r\n")
    sink = CsvTable(str(file))
    sink.write([page("http://a.example/2", title="Two")])
    sink.close()
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [(row["title"], row["url"], row["of_old"]) for row in rows] == [
        ("One", "http://a.example/1", "x"),
        ("Two", "http://a.example/2", ""),
    ]


def test_table_that_is_another_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_bytes(b"name,price\r\nchair,49")
    with pytest.raises(SettingsError, match="another table"):
        CsvTable(str(file))
    assert file.read_bytes() == b"name,price\r\nchair,49"
