import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from gcs.core.page.values import PageRecord, Request, Response
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.parquet import FIELDS
from gcs.ports.records.record_store import Store

Run = Callable[..., subprocess.CompletedProcess[str]]
TITLE = 'say "ö", then\nmore'
OUTLINKS = ["http://example.com/a", "http://example.com/b"]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pages in Parquet, two still in the log."""
    directory = tmp_path_factory.mktemp("crawl")
    with Store.open(directory, StoreSettings(log_records=3), "g1") as store:
        for number in range(5):
            url = f"http://example.com/{number}"
            head = f"GET /{number} HTTP/1.1\r\n\r\n".encode()
            body = f"page {number}".encode()
            answer = Response(Request(url), 200, "OK", "1.1", (), body, body, head, "127.0.0.1", 1.76e9, 0.1)
            blank = {str: "", int: 0, float: 1.76e9, bool: False, list[str]: OUTLINKS}
            values = {field.name: blank[field.type] for field in msgspec.structs.fields(PageRecord)}
            values |= {"url": url, "depth": number, "status": 200, "title": TITLE, "simhash": 2**64 - 1}
            store.add_page(PageRecord(**values), answer)
            store.sync()
    return directory


@pytest.fixture
def run(crawl: Path) -> Run:
    def run(*arguments: str, place: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gcs", "export", place or str(crawl), *arguments]
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")

    return run


def test_export_jsonl_holds_every_field_of_every_page(run: Run) -> None:
    rows = [json.loads(line) for line in run().stdout.splitlines()]
    assert [row["url"] for row in rows] == [f"http://example.com/{number}" for number in range(5)]
    assert all(list(row) == list(FIELDS) for row in rows)
    assert rows[4]["outlinks"] == OUTLINKS
    assert rows[4]["simhash"] == 2**64 - 1
    assert rows[4]["fetched_at"] == "2025-10-09T08:53:20Z"


def test_export_csv_has_a_header_and_the_fields_asked_for(run: Run) -> None:
    rows = list(csv.reader(io.StringIO(run("--format", "csv", "--fields", "depth, title,outlinks").stdout)))
    assert rows[0] == ["depth", "title", "outlinks"]
    assert rows[1:] == [[str(depth), TITLE, " ".join(OUTLINKS)] for depth in range(5)]


def test_export_cdxj_is_sorted_and_names_warc_records(run: Run, crawl: Path) -> None:
    lines = run("--format", "cdxj").stdout.splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 5
    key, timestamp, fields = lines[0].split(" ", 2)
    assert (key, timestamp) == ("com,example)/0", "20251009085320")
    assert (crawl / "warc" / json.loads(fields)["filename"]).exists()


def test_export_to_a_file_reports_what_it_wrote(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "pages.csv"
    done = run("--format", "csv", "--output", str(target), "--json")
    assert json.loads(done.stdout) == {"format": "csv", "records": 5, "output": str(target)}
    assert "5 records written to" in run("-o", str(target)).stdout
    assert len(target.read_text().splitlines()) == 5
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--fields", "tittle"], 2, "there is no field 'tittle': did you mean 'title'?"),
        (["--fields", "url", "--format", "cdxj"], 2, "--fields is for jsonl and csv"),
        (["--json"], 2, "--json needs --output"),
        (["--format", "xml"], 2, "'xml' is not one of"),
        (["-o", "/dev/full"], 1, "cannot write /dev/full: No space left on device"),
        (["-o", "/nowhere/pages"], 1, "cannot write /nowhere/pages: No such file or directory"),
    ],
)
def test_export_says_what_is_wrong_in_one_line(run: Run, arguments: list[str], code: int, message: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr.splitlines()[-1]


def test_export_of_what_is_no_crawl_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    for place, message in ((tmp_path, "holds no crawl"), (tmp_path / "none", "no directory"), ("no://x", "cannot use")):
        done = run(place=str(place))
        assert done.returncode == 2
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_export_ends_quietly_when_its_reader_goes(crawl: Path) -> None:
    command = f"'{sys.executable}' -m gcs export '{crawl}' | head -c 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{", "")


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "'=1", "＝1", "\x1b[2J=1", "fine = 1", ""]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages whose titles a spreadsheet would run."""
    directory = tmp_path_factory.mktemp("hostile")
    with Store.open(directory, StoreSettings(warc=False), "g1") as store:
        for number, title in enumerate(FORMULAS):
            common = {"parent": "", "depth": 0, "status": 200, "fetched_at": 1.76e9, "gatherer": "g1"}
            store.add_page(PageRecord(url=f"http://example.com/{number}", title=title, **common), None)
        store.sync()
    return directory


def test_export_csv_holds_no_formulas(run: Run, hostile: Path) -> None:
    words = ("--format", "csv", "--fields", "title,depth,simhash")
    done = subprocess.run(
        [sys.executable, "-m", "gcs", "export", str(hostile), *words], capture_output=True, check=True
    )
    titles = [row[0] for row in csv.reader(io.StringIO(done.stdout.decode(), newline=""))][1:]
    assert not any(title.startswith(("=", "+", "-", "@", "\t", "\n", "＝")) for title in titles)
    assert "\x1b" not in done.stdout.decode()
    back = [title.removeprefix("'") for title in titles]
    assert back == [title.replace("\x1b", "\N{REPLACEMENT CHARACTER}") for title in FORMULAS]


def test_export_raw_csv_is_as_stored(run: Run, hostile: Path) -> None:
    words = ("--format", "csv", "--fields", "title", "--raw")
    done = subprocess.run(
        [sys.executable, "-m", "gcs", "export", str(hostile), *words], capture_output=True, check=True
    )
    assert [row[0] if row else "" for row in csv.reader(io.StringIO(done.stdout.decode(), newline=""))][1:] == FORMULAS
    assert run("--raw").returncode == 2
