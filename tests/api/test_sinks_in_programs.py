"""`gcs.crawl(…, sink=[…])`: every page reaches a program's own sinks; what one cannot take waits for the next run."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import gcs
from gcs.app import sink_threads
from gcs.errors import SettingsError, StoreError
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess

FAKE: dict[str, Any] = {"allow_private": True, "delay": 0.0, "scope": "any"}


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=3, pages=60, html_bytes=3000)) as server:
        yield server


class Taking:
    """A sink that can be away."""

    is_away = False
    urls: list[str]

    def __init__(self) -> None:
        self.urls = []

    def write(self, pages: Sequence[gcs.Page]) -> None:
        if self.is_away:
            raise ConnectionError("away")
        self.urls += [page.url for page in pages]


def test_run_without_a_loop_brings_every_page_to_the_sinks(web: FakeWebProcess, tmp_path: Path) -> None:
    taking = Taking()
    report = gcs.Crawl(*web.seeds, ahead=5, sink=[taking, str(tmp_path / "c.md")], **FAKE).run()
    assert report.state == "done" and set(taking.urls) == survey(web.web).pages
    assert len(taking.urls) == len(list((tmp_path / "c.md").rglob("*.md"))) == 60


def test_loop_and_sink_get_the_same_pages(web: FakeWebProcess) -> None:
    taking = Taking()
    urls = [page.url for page in gcs.crawl(*web.seeds, sink=[taking], **FAKE)]
    assert sorted(urls) == sorted(taking.urls)


def test_sink_that_is_away_gets_the_rest_in_the_next_run(
    web: FakeWebProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_threads, "_LAST_TRIES", 1)
    taking = Taking()
    taking.is_away = True
    with pytest.raises(StoreError, match=r"has not taken all pages \(ConnectionError: away\)"):
        gcs.Crawl(*web.seeds, output=tmp_path, sink=[taking], **FAKE).run()
    assert len(list(gcs.open(tmp_path))) == 60, "the crawl has lost nothing"
    taking.is_away = False
    gcs.Crawl(output=tmp_path, sink=[taking]).run()
    assert set(taking.urls) == survey(web.web).pages


def test_what_is_no_sink_is_refused_before_the_crawl(web: FakeWebProcess) -> None:
    with pytest.raises(SettingsError, match="stores nothing"):
        gcs.crawl(*web.seeds, sink=[object()], **FAKE)
    with pytest.raises(SettingsError, match=r"pages\.xml"):
        gcs.crawl(*web.seeds, sink=["pages.xml"], **FAKE)


@pytest.mark.parametrize("depth", ["links", "fast"])
def test_markdown_is_there_at_every_depth(web: FakeWebProcess, depth: Any) -> None:
    """Made from the archive, where the record has none."""
    page = next(iter(gcs.crawl(*web.seeds, max_pages=1, summary=depth, **FAKE)))
    assert page.title in page.markdown and "<" not in page.markdown
