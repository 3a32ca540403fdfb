"""Near-duplicates of what was gathered: reported, and left out of exports."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gcs.core.page.simhash import simhash
from gcs.ports.duplicates import METHODS, duplicate_report, groups_by
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_store import Store
from tests.ports.records.pages import record

LONG = " ".join(f"word{number % 97} and something about {number}" for number in range(300))
#: the same text twice, nearly the same, and two others; the last page is gone in session 2
TEXTS = [LONG, LONG, f"{LONG} and one more", "something else altogether", "", "", f"{LONG} again"]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("crawl")
    with Store.open(directory, StoreSettings(log_records=3), "g0") as store:
        for number, text in enumerate(TEXTS):
            url = f"http://a.example/{number}"
            store.add_page(record(url, text=text, title=f"T{number}", simhash=simhash(text) if text else 0))
        gone = {"session": 2, "change": "gone", "status": 404, "failure": "http-404"}
        store.add_page(record("http://a.example/6", text="", simhash=0, **gone))
        store.flush()
    return directory


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    if request.param == "minhash":
        pytest.importorskip("rensa")
    return str(request.param)


def test_report_names_the_groups(crawl: Path, method: str) -> None:
    report = duplicate_report(str(crawl), method, 10)
    assert (report.pages, report.unique, report.groups) == (6, 4, 1)
    (group,) = report.largest
    assert (group.pages, group.title, group.url) == (3, "T0", "http://a.example/0")
    assert group.others == ["http://a.example/1", "http://a.example/2"]


@pytest.mark.parametrize("form", ["jsonl", "csv", "md"])
def test_export_leaves_out_what_is_nearly_the_same(crawl: Path, method: str, form: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gcs", "export", str(crawl), f"--dedup={method}", "--format", form, "--json"]
    done = subprocess.run([*command, "-o", str(tmp_path / "out")], capture_output=True, check=True)
    assert json.loads(done.stdout)["records"] == (2 if form == "md" else 4)


def test_command_says_how_much_is_double(crawl: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "gcs", "duplicates", str(crawl)], capture_output=True, check=True)
    assert (
        "3 pages: T0" in done.stdout.decode() and "6 pages, 4 without near-duplicates; 1 group" in done.stdout.decode()
    )


def test_minhash_finds_what_signatures_keep_apart() -> None:
    """A page with another menu of many words; and two short texts of which only a word differs."""
    pytest.importorskip("rensa")
    menu = " ".join(f"menu{number}" for number in range(60))
    pairs = (LONG, f"{menu} {LONG}"), ("page one of the list", "page two of the list")
    for (one, other), alike in zip(pairs, (True, False)):
        groups = groups_by("minhash")
        assert (groups.group_of(simhash(one), one) == groups.group_of(simhash(other), other)) is alike
