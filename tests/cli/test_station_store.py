"""`gcs station s3://…` in a real browser: a crawl of which only the store is left."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import gcs as library
from gcs.testing import OPTIONS, serve
from tests.browsing import WIDTHS, browsing, judge, open_page
from tests.cli.test_station_folder import VIEWS, Desk
from tests.s3_server import s3_bucket

Run = Callable[..., Any]
HOME = '<html lang="en"><title>Home</title><p>The text of the home page.<a href="/a">a</a><a href="/gone">gone</a>'


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The store of two sessions, the second of which confirms a page; and the URL of the site."""
    pages: dict[str, Any] = {"/": (200, {"ETag": '"1"'}, HOME), "/a": "<title>A</title><p>First words."}
    with s3_bucket(monkeypatch) as bucket, serve(pages) as url:
        for begins in (False, True):
            crawl = library.crawl(url, output=tmp_path / "shop", next=begins, store=f"{bucket}/shop", **OPTIONS)
            for _ in crawl:
                pass
            pages |= {"/": (304, {}, ""), "/a": "<title>A</title><p>Second words."}
        shutil.rmtree(tmp_path / "shop")
        yield f"{bucket}/shop", url


def test_station_shows_a_store_and_says_no_more_than_it_knows(stored: tuple[str, str], start: Any, call: Run) -> None:
    store, url = stored
    status = call("status", store)
    assert status.out.startswith("stored: 2 pages held (1 fetched, 1 confirmed without sending)"), status
    assert "explored" not in status.out and "known" not in status.out
    desk, complaints = Desk(start, store), list[str]()
    with browsing() as browser:
        page = open_page(browser, desk.link, complaints, viewport={"width": 1400, "height": 900})
        views = VIEWS | {"settings": "#settings .error", f"page?url={quote(url, safe='')}": "#page .facts"}
        for view, shows in views.items():
            page.goto(f"{desk.url}#/crawl/shop/{view}")
            page.wait_for_selector(shows)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (view, width)
            assert judge(page) == [], view
        assert "The text of the home page" in page.inner_text("#part")  # session 2 only confirmed it
        page.click("#tab-versions")
        page.wait_for_selector("#part li:has-text('the one before holds')")
        page.goto(f"{desk.url}#/crawl/shop/overview")
        page.wait_for_selector("#errors li:has-text('http-404')")
        page.wait_for_selector("#pages li:has-text('Home')")
        assert page.inner_text("#explored") == "–" and "2 held" in page.inner_text("#figures")
        assert page.is_disabled("#stop")
    assert [each for each in complaints if "404" not in each] == []
    assert desk.call("stop", {})[0] == 409


def test_place_without_a_crawl_is_refused(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    with s3_bucket(monkeypatch) as bucket:
        call = request.getfixturevalue("call")  # it keeps the environment as it is now
        for place in (bucket, f"{bucket}/other", "s3://nothing/x", "nosuch://x/y"):
            for command in ("station", "status"):
                done = call(command, place)
                assert done.code == 2 and ("there is no crawl here" in done.err or "cannot use" in done.err), done
