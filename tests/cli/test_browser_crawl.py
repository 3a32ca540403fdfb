"""Pages that only scripts write: `gcs crawl` says that there are some, and `gcs crawl --browser` reads them."""

import base64
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.browsing import chromium

Run = Callable[..., Any]
SHELL = b"<html><title>t</title><body><div id=app></div><script src=/app.js></script></body></html>"
SCRIPT = b"""document.getElementById('app').innerHTML = '<h1>Ferry times</h1><p>' +
'The ferry leaves at noon from the old harbour, every day of the week. '.repeat(5) + '</p><a href=/two>two</a>'
fetch('/data.json')"""
FLAGS = ("--allow-private", "--delay", "0", "--set", "frontier.checkpoint_s=0.1")


class Site(BaseHTTPRequestHandler):
    """Every page is the same empty shell, and says so when it is asked again."""

    def log_message(self, *_: object) -> None:
        """Tests read stderr."""

    def do_GET(self) -> None:
        is_script = self.path == "/app.js"
        body = b"" if self.path == "/robots.txt" else SCRIPT if is_script else SHELL
        same = not is_script and self.headers["If-None-Match"] == '"1"'
        self.send_response(304 if same else 200)
        self.send_header("Content-Type", "text/javascript" if is_script else "text/html")
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(0 if same else len(body)))
        self.end_headers()
        self.wfile.write(b"" if same else body)


@pytest.fixture
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def test_empty_shells_are_told_and_rendered(gcs: Run, site: str) -> None:
    chromium()
    plain = gcs("crawl", site, "-o", "docs", *FLAGS)
    assert plain.code == 0
    assert "1 page is an empty shell, written by scripts: to read them, add --browser" in plain.out
    again = gcs("crawl", "docs")
    assert "nothing was left to do; to ask again for every page: gcs crawl --next docs" in again.out
    done = gcs("crawl", "--next", "docs", "--browser", "--json")
    report = json.loads(done.out)
    assert (report["state"], report["pages"], report["shells"]) == ("done", 2, 0), done
    pages = [json.loads(line) for line in gcs("export", "docs", "--latest").out.splitlines()]
    assert {page["url"] for page in pages} == {site, f"{site}two"}
    assert all("The ferry leaves at noon" in page["text"] and page["helper"] for page in pages)


def test_rendered_pages_have_a_picture_and_an_archive_of_what_their_scripts_asked_for(gcs: Run, site: str) -> None:
    chromium()
    flags = ("--browser", "--requisites", "--set", "summary.thumbnails=200")
    assert gcs("crawl", site, "-o", "docs", *flags, *FLAGS).code == 0
    pages = [json.loads(line) for line in gcs("export", "docs", "--table", "pages").out.splitlines()]
    assert {page["url"] for page in pages} == {site, f"{site}two"}
    for page in pages:
        kind, _, data = page["thumbnail"].partition(";base64,")
        picture = base64.b64decode(data)
        assert kind == "data:image/webp" and picture[8:12] == b"WEBP" and len(picture) > 500
    needed = [json.loads(line)["url"] for line in gcs("export", "docs", "--table", "requisites").out.splitlines()]
    assert sorted(needed) == [f"{site}app.js", f"{site}data.json"]


def test_browser_says_what_is_missing(call: Run) -> None:
    chromium()
    done = call("crawl", "http://127.0.0.1:9/", "--browser", PATH="/nowhere")
    assert done.code == 2 and "no browser: chromium or" in done.err and "apt-get install chromium" in done.err


def test_a_seed_that_fails_is_nothing_explored(gcs: Run) -> None:
    done = gcs("crawl", "http://127.0.0.1:9/", "-o", "docs", "--allow-private", "--set", "politeness.retry_s=0.01")
    assert done.code == 1
    assert "nothing explored" in done.out and "100 %" not in done.out
