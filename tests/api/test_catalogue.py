"""The catalogue of a crawl: what it says is what the records say, however it came about."""

from pathlib import Path

import pytest

import gcs
from gcs.ports.catalogue import Catalogue
from gcs.testing import OPTIONS, serve

PAGES = {
    "/": '<title>Home</title><a href="/a">a</a><a href="/b">b</a><a href="/gone">g</a><a href="/to-a">r</a>',
    "/a": '<html lang="en"><title>About <script> us</title><p>First text of a.',
    "/b": "<title>B</title><p>Text of b.",
    "/to-a": (301, {"Location": "/a"}, ""),
}


@pytest.fixture
def crawled(tmp_path: Path) -> tuple[Path, str]:
    """Two sessions; in the second one a page has changed, and one is gone."""
    pages = dict(PAGES)
    with serve(pages) as url:
        for _ in gcs.crawl(url, output=tmp_path / "c", **OPTIONS):
            pass
        pages["/a"] = "<title>About</title><p>Second text of a."
        del pages["/b"]
        for _ in gcs.crawl(url, output=tmp_path / "c", next=True, **OPTIONS):
            pass
    return tmp_path / "c", url


def opened(directory: Path) -> Catalogue:
    catalogue = Catalogue(directory, directory / "state" / "catalogue.sqlite")
    while not catalogue.update(1.0):
        pass
    return catalogue


def test_catalogue_has_each_url_as_it_was_found_last(crawled: tuple[Path, str]) -> None:
    directory, url = crawled
    catalogue = opened(directory)
    total, rows = catalogue.find({}, "", "url", 0, 100)
    assert total == len(rows) == len({row.url for row in rows})
    assert {row.url: (row.kind, row.status) for row in rows} == {
        url: ("page", 200),
        f"{url}a": ("page", 200),
        f"{url}b": ("failure", 404),
        f"{url}gone": ("failure", 404),
        f"{url}to-a": ("redirect", 301),
    }
    changed = catalogue.row(f"{url}a")
    assert changed and (changed.session, changed.change, changed.title) == (2, "changed", "About")
    texts = [record.text for session in (1, 2, 0) if (record := catalogue.record(f"{url}a", session))]
    assert texts == ["First text of a.", "Second text of a.", "Second text of a."]
    assert catalogue.record(f"{url}other") is None
    catalogue.close()


def test_catalogue_finds_by_exact_values_and_by_text(crawled: tuple[Path, str]) -> None:
    directory, url = crawled
    catalogue = opened(directory)
    assert [row.url for row in catalogue.find({"kind": "failure"}, "", "url", 0, 9)[1]] == [f"{url}b", f"{url}gone"]
    assert [row.url for row in catalogue.find({}, "ABOUT", "url", 0, 9)[1]] == [f"{url}a"]
    assert catalogue.find({"host": "' or 1=1 --"}, "%", "url", 0, 9) == (0, [])
    assert catalogue.find({}, "", "url", 1, 1)[1][0].url == f"{url}a"
    assert dict(catalogue.facet("kind", 9)) == {"page": 2, "failure": 2, "redirect": 1}
    host = catalogue.host("127.0.0.1")
    assert (host.pages, host.failed, host.redirects) == (2, 2, 1) and catalogue.failures_of("127.0.0.1") == {
        "http-404": 2
    }
    catalogue.close()


@pytest.mark.parametrize("damage", [None, b"nonsense", b""])
def test_catalogue_that_is_lost_is_made_anew(crawled: tuple[Path, str], damage: bytes | None) -> None:
    directory, _ = crawled
    first = opened(directory)
    before = first.find({}, "", "url", 0, 100)
    first.close()
    file = directory / "state" / "catalogue.sqlite"
    for end in ("-wal", "-shm"):
        file.with_name(file.name + end).unlink(missing_ok=True)
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage)
    again = opened(directory)
    assert again.find({}, "", "url", 0, 100) == before
    again.close()
    third = opened(directory)  # nothing is read twice
    assert third.find({}, "", "url", 0, 100) == before and len(third.versions(before[1][0].url)) == 2
    third.close()


def test_record_of_a_page_that_was_confirmed_is_the_one_that_tells(tmp_path: Path) -> None:
    """A 304 says that the older copy holds: what is shown is that copy, not an empty answer."""
    pages = {"/": (200, {"ETag": '"1"'}, "<p>Its text.")}
    with serve(pages) as url:
        for begins in (False, True):
            for _ in gcs.crawl(url, output=tmp_path / "c", next=begins, **OPTIONS):
                pass
            pages["/"] = (304, {}, "")
    catalogue = opened(tmp_path / "c")
    assert [(place.session, bool(place.tells)) for place in catalogue.versions(url)] == [(1, True), (2, False)]
    for session in (0, 1, 2):
        record = catalogue.record(url, session)
        assert record and (record.status, record.session, record.text) == (200, 1, "Its text.")
    catalogue.close()
