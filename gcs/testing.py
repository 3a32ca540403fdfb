"""Webs for tests, on loopback: pages of your own, or the fake web that ships with GCS. Needs pytest.

In `conftest.py`: `from gcs.testing import fake_web, site`. A test then takes `site` (a function: give it pages and it
gives the URL) or `fake_web` (160 pages on four hosts; `fake_web.seeds` are its seeds).
"""

import mimetypes
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess

__all__ = ["OPTIONS", "Answer", "FakeWebProcess", "FakeWebSpec", "fake_web", "serve", "site"]

#: the options of a crawl of such a web: `gcs.crawl(url, **OPTIONS)`
OPTIONS: dict[str, Any] = {"allow_private": True, "delay": 0.0}

#: HTML, bytes, or a status with headers and body
Answer = str | bytes | tuple[int, Mapping[str, str], str | bytes]


@contextmanager
def serve(pages: Mapping[str, Answer]) -> Iterator[str]:
    """Serve these pages, by path ("/", "/a.html", "/search?q=x"); yields the URL of "/". Anything else is a 404.

    HTML is text; of bytes, the end of the path says what they are.
    """

    class Handler(_Handler):
        answers = pages

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, name="gcs-testing", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers: Mapping[str, Answer] = {}

    def do_GET(self) -> None:
        answer = self.answers.get(self.path, (404, {}, "<title>Not found</title>"))
        status, headers, body = answer if isinstance(answer, tuple) else (200, {}, answer)
        data = body.encode() if isinstance(body, str) else body
        told = {"Content-Type": _type(self.path, body), "Content-Length": str(len(data)), **headers}
        self.send_response(status)
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """A test's output is no place for requests."""


def _type(path: str, body: str | bytes) -> str:
    guessed = mimetypes.guess_type(path.partition("?")[0])[0]
    if isinstance(body, bytes):
        return guessed or "application/octet-stream"
    return f"{guessed if guessed and not guessed.startswith('application/') else 'text/html'}; charset=utf-8"


@pytest.fixture
def site() -> Iterator[Callable[[Mapping[str, Answer]], str]]:
    """A function that serves pages until the test ends, and returns the URL of "/"."""
    with ExitStack() as stack:
        yield lambda pages: stack.enter_context(serve(pages))


@pytest.fixture(scope="session")
def fake_web() -> Iterator[FakeWebProcess]:
    """The fake web, without politeness or trouble. `gcs.fakeweb.survey(fake_web.web)` is the truth about it."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=160)) as web:
        yield web
