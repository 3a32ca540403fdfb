"""Plug-ins in whole crawls: of a program, of the command line, of a team; their fields reach every output."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

import gcs
from gcs.app import consent
from gcs.errors import ConsentError, SettingsError
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.settings import load

FAKE: dict[str, Any] = {"allow_private": True, "delay": 0.0, "scope": "any"}
MODULE = """
class Counting:
    def on_page(self, page):
        if page.url.endswith("-8.html"):
            raise ValueError("eight")
        return {"heading": page.first("h1"), "links": len(page.css("a")), "marker": "zanzibar"}

    def keep_link(self, url, page):
        return "/news/" not in url

    def on_request(self, url):
        return {"X-Asked-By": "counting"}
"""


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=3, pages=90, html_bytes=4000)) as server:
        yield server


def gcs_command(*arguments: object, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "gcs", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_functions_of_a_program_are_plugins(web: FakeWebProcess) -> None:
    pages = list(
        gcs.crawl(
            *web.seeds,
            on_page=lambda page: {"heading": page.first("h1")},
            keep_link=lambda url, _: "/news/" not in url,
            **FAKE,
        )
    )
    assert pages and all(page.fields["heading"] == page.title for page in pages)
    assert not any("/news/" in link for page in pages for link in page.outlinks)


def test_headers_of_a_plugin_are_sent(web: FakeWebProcess) -> None:
    pages = list(gcs.crawl(*web.seeds, max_pages=5, on_request=lambda url: {"X-Asked-For": url}, **FAKE))
    for page in pages:
        (sent,) = _requests(page)
        assert f"X-Asked-For: {page.url}\r\n" in sent


def _requests(page: gcs.Page) -> list[str]:
    """The request records of a page in the WARC."""
    (path,) = Path(page._place).glob("warc/*.warc.gz")
    with path.open("rb") as file:
        return [
            record.http_headers.to_str()
            for record in ArchiveIterator(file)
            if record.rec_type == "request" and record.rec_headers["WARC-Target-URI"] == page.url
        ]


@pytest.mark.parametrize("gatherers", [1, 3])
def test_fields_reach_parquet_exports_and_search(web: FakeWebProcess, tmp_path: Path, gatherers: int) -> None:
    (tmp_path / "counting.py").write_text(MODULE)
    gcs_command(
        *("crawl", *web.seeds, "-o", "docs", "-n", gatherers, "--plugins", "counting:Counting"),
        *("--allow-private", "--delay", 0, "--scope", "any", "--json"),
        cwd=tmp_path,
    )
    directory = tmp_path / "docs"
    pages = list(gcs.open(directory))
    good = {page.url: page.fields for page in pages if "heading" in page.fields}
    bad = [page for page in pages if "_errors" in page.fields]
    assert len(good) + len(bad) == len(pages) > 20 and bad
    assert all(page.url.endswith("-8.html") and "eight" in str(page.fields["_errors"]) for page in bad)
    assert not any("/news/" in page.url for page in pages if page.depth)

    rows = [row for path in directory.glob("summaries/*.parquet") for row in pq.read_table(path).to_pylist()]
    assert {row["url"]: json.loads(row["fields"]) for row in rows if row["url"] in good} == good

    lines = gcs_command("export", directory, "--latest", "--fields", "url,fields.heading,fields", cwd=tmp_path)
    exported = [json.loads(line) for line in lines.splitlines()]
    assert {row["url"]: row["fields"] for row in exported if row["fields.heading"]} == good

    table = gcs_command(
        "export", directory, "--latest", "--format", "csv", "--fields", "url,fields.links", cwd=tmp_path
    )
    cells = dict(line.rsplit(",", 1) for line in table.splitlines()[1:])
    assert {url: int(cells[url]) for url in good} == {url: fields["links"] for url, fields in good.items()}

    found = json.loads(gcs_command("search", directory, "zanzibar", "--json", cwd=tmp_path))
    assert found["found"] == len(good)


def test_plugin_of_a_charter_needs_consent() -> None:
    settings = load(None, {}, {"crawl.plugins": "shop:Shop"})
    with pytest.raises(ConsentError, match="plugins=shop:Shop"):
        consent.check(settings, [])
    consent.check(settings, ["plugins=shop:Shop"])
    consent.check(settings, ["plugins"])
    assert consent.all_of(settings) == "plugins=shop:Shop"


def test_plugin_that_is_not_there_is_named(web: FakeWebProcess) -> None:
    with pytest.raises(SettingsError, match="no plug-in 'shopping'"):
        list(gcs.crawl(*web.seeds, plugins=["shopping"], **FAKE))
    with pytest.raises(SettingsError, match=r"put nowhere_at_all\.py into this directory"):
        list(gcs.crawl(*web.seeds, plugins=["nowhere_at_all:Shop"], **FAKE))


def test_plugins_see_the_text_of_the_full_depth(web: FakeWebProcess) -> None:
    """Its text comes from other processes, after the links."""
    pages = list(gcs.crawl(*web.seeds, max_pages=4, summary="full", on_page=lambda page: {"n": len(page.text)}, **FAKE))
    assert len(pages) == 4 and all(page.fields["n"] == len(page.text) > 0 for page in pages)
