"""Files as sinks: half lines."""

from pathlib import Path

from gcs.ports.records.page import Page
from gcs.ports.sinks.file_sinks import JsonLines
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
