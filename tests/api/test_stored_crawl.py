"""`gcs.open` reads what crawls have stored: pages, versions, links, WARC records; from logs, Parquet and by teams."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gcs
from gcs.errors import UsageError
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess

FAKE: dict[str, Any] = {"allow_private": True, "delay": 0.0, "scope": "any"}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[gcs.Page]]]:
    """A crawl of two sessions, and the pages that its loops were given."""
    directory = tmp_path_factory.mktemp("stored") / "docs"
    spec = FakeWebSpec.plain(
        hosts=2, pages=60, changed_share=0.3, gone_share=0.1, validators=True, twins=True, codings=True, redirects=True
    )
    with FakeWebProcess(spec) as server:
        pages = list(gcs.crawl(*server.seeds, output=directory, settings={"store.log_records": 17}, **FAKE))
        server.set_session(2)
        pages += list(gcs.crawl(output=directory, next=True))
    yield directory, pages


def test_pages_are_those_of_the_last_session(crawled: tuple[Path, list[gcs.Page]]) -> None:
    directory, delivered = crawled
    told = {page.url: page for page in delivered if page.change not in ("same", "")}
    expected = {url: page.digest for url, page in told.items() if page.change != "gone" and page.is_page}
    stored = {page.url: page.digest for page in gcs.open(directory)}
    assert stored == expected and len(stored) > 50


def test_versions_follow_a_page_through_the_sessions(crawled: tuple[Path, list[gcs.Page]]) -> None:
    directory, delivered = crawled
    changed = next(page for page in delivered if page.change == "changed")
    gone = next(page for page in delivered if page.change == "gone")
    same = next(page for page in delivered if page.change == "same" and page.status == 304)
    stored = gcs.open(directory)
    old, new = stored.versions(changed.url)
    assert (old.session, new.session) == (1, 2) and old.content != new.content
    assert new.content == changed.content
    assert [page.change for page in stored.versions(gone.url)] == ["new", "gone"]
    assert stored.page(gone.url) is None
    held = stored.page(same.url)
    assert held and held.session == 1 and held.text
    assert same.content == held.content, "a 304 has the payload of the copy that it confirms"


def test_content_is_what_the_server_sent_decoded(crawled: tuple[Path, list[gcs.Page]]) -> None:
    """Also of twins, whose payload is stored once, and of gzip."""
    directory, _ = crawled
    kinds = Counter[str]()
    for page in gcs.open(directory):
        kinds[page.warc.warc_headers["warc-type"]] += 1
        kinds[page.headers.get("content-encoding", "none")] += 1
        if page.content_type.startswith("text/html"):
            assert b"<" in page.content and page.title.split()[0].encode() in page.content, page
    assert kinds["revisit"] and kinds["gzip"] and kinds["response"] > 40


def test_edges_are_the_links_of_the_pages(crawled: tuple[Path, list[gcs.Page]]) -> None:
    stored = gcs.open(crawled[0])
    assert Counter(stored.edges()) == Counter((page.url, link) for page in stored for link in page.outlinks)


def test_records_hold_all_sessions_and_redirects(crawled: tuple[Path, list[gcs.Page]]) -> None:
    records = list(gcs.open(crawled[0]).records())
    assert {page.session for page in records} == {1, 2}
    assert any(300 <= page.status < 304 for page in records)
    assert set(gcs.open(crawled[0]).reports()) == {1, 2}


def test_opening_what_is_no_crawl_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no crawl"):
        gcs.open(tmp_path)
    with pytest.raises(UsageError, match="no directory"):
        gcs.open(tmp_path / "nowhere")


def test_content_of_a_crawl_without_warc_is_refused() -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=3)) as server:
        page = next(iter(list(gcs.crawl(*server.seeds, warc=False, **FAKE))))
    assert page.text
    with pytest.raises(UsageError, match="warc=False"):
        _ = page.content
