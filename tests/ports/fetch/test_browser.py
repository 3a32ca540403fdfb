"""The browser engine: the fetch port's contract, kept while a real Chromium runs the scripts of the page."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from gcs.core.page.values import Failure, FailureKind, Request, Response
from gcs.errors import UsageError
from gcs.ports.fetch import FetchSettings, Sink
from gcs.ports.fetch.aio_engine import AioFetcher
from gcs.ports.fetch.browser import BrowserFetcher, BrowserSettings
from gcs.ports.fetch.chromium import NAMES
from gcs.ports.reader import Summarisers
from tests.ports.fetch.conftest import Client, Conversation, Engine

pytest.importorskip("playwright", reason="Playwright is not installed")
if not any(map(shutil.which, NAMES)):
    pytest.skip("no Chromium on PATH (apt-get install chromium)", allow_module_level=True)

QUICK = BrowserSettings(tabs=1, load_s=5.0, settle_s=1.0, quiet_s=0.05)
Open = Callable[..., Awaitable[Client]]


def page(body: str, kind: str = "text/html; charset=iso-8859-1", *fields: str) -> bytes:
    raw = body.encode("latin-1")
    head = "".join(f"{field}\r\n" for field in (f"Content-Type: {kind}", *fields))
    return f"HTTP/1.1 200 OK\r\n{head}Content-Length: {len(raw)}\r\n\r\n".encode() + raw


def links(response: Response) -> list[str]:
    kind = response.header("content-type") or ""
    return Summarisers().summarise(response.content, kind, response.request.url, "links").hrefs


@pytest.fixture
async def browser() -> AsyncIterator[Open]:
    clients: list[Client] = []

    async def start(settings: BrowserSettings = QUICK, below: Engine = AioFetcher, **fetch: object) -> Client:
        def engine(fetch_settings: FetchSettings, sink: Sink) -> BrowserFetcher:
            return BrowserFetcher(fetch_settings, sink, settings, lambda sink: below(fetch_settings, sink))

        made = Client(engine, FetchSettings(**{"user_agent": "test/1", "allow_private": True, **fetch}))  # type: ignore[arg-type]
        await made.fetcher.open()
        clients.append(made)
        return made

    yield start
    for made in clients:
        await made.fetcher.close()


class Guarded:
    """An engine that lets one URL through and asks the guard about all others, as if that one were public."""

    def __init__(self, public: str, settings: FetchSettings, sink: Sink) -> None:
        self._public = public
        self._free, self._guarded = AioFetcher(settings, sink), AioFetcher(FetchSettings(user_agent="test/1"), sink)

    @property
    def in_flight(self) -> int:
        return self._free.in_flight + self._guarded.in_flight

    async def open(self) -> None:
        await self._free.open()
        await self._guarded.open()

    def start(self, request: Request) -> None:
        (self._free if request.url == self._public else self._guarded).start(request)

    async def close(self) -> None:
        await self._free.close()
        await self._guarded.close()


class Paths:
    """A server with one behaviour a path."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def __call__(self, conversation: Conversation) -> None:
        path = conversation.head.split(b" ", 2)[1].decode()
        self.asked.append(path)
        await conversation.send(self.answers.get(path, b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"))


WRITTEN = """<title>caf\xe9</title><a href=/plain></a><div id=app></div><script src=/app.js></script>
<script>fetch('/data.json').then(r => r.json()).then(d => app.innerHTML += `<a href=${d.link}>late</a>`)
const x = new XMLHttpRequest(); x.open('POST', '/vote'); x.send('yes')
new Image().src = '/picture.png'; new WebSocket('ws://' + location.host + '/socket')
window.open('/popup'); alert('hello'); setTimeout(() => location.href = '/moved', 1)</script>
<iframe src=/frame></iframe>"""


async def test_links_that_only_scripts_write_are_found(serve, browser: Open) -> None:
    """And the message of the server stays as it was, only GETs of scripts and data left, and the reader stayed."""
    server = Paths(
        {
            "/": page(WRITTEN, "text/html; charset=iso-8859-1", "Set-Cookie: a=b", "ETag: x"),
            "/app.js": page("document.write('<a href=/written>now</a>')", "text/javascript"),
            "/data.json": page('{"link": "/fetched"}', "application/json"),
        }
    )
    site = await serve(server)
    client = await browser()
    response = await client.ask(site.url)
    assert isinstance(response, Response)
    assert {"/plain", "/written", "/fetched", "/frame", f"{site.url}moved"} == set(links(response))
    assert response.body == WRITTEN.encode("latin-1")
    assert (response.status, response.header("etag"), response.ip) == (200, "x", "127.0.0.1")
    assert "café" in response.content.decode("utf-8-sig")
    assert response.request_head == site.heads[0]
    assert set(server.asked) == {"/", "/app.js", "/data.json"}
    assert not any(b"ookie" in head for head in site.heads)

    again = await client.ask(f"{site.url}?2")  # a 404 is not rendered; and the script is asked for once
    assert (again.status, again.content) == (404, b"")
    server.answers["/?3"] = server.answers["/"]
    third = await client.ask(f"{site.url}?3")
    assert "/fetched" in links(third)
    assert server.asked.count("/app.js") == 1


async def test_answers_that_are_no_page_are_left_alone(serve, browser: Open) -> None:
    site = await serve(
        Paths(
            {
                "/moved": b"HTTP/1.1 302 Go\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n",
                "/pdf": page("%PDF-1.7", "application/pdf"),
            }
        )
    )
    client = await browser()
    moved = await client.ask(f"{site.url}moved")
    assert (moved.status, moved.header("location")) == (302, "/there")
    pdf = await client.ask(f"{site.url}pdf")
    assert pdf.content is pdf.body
    assert client.fetcher.in_flight == 0


async def test_scripts_reach_no_forbidden_address(serve, browser: Open) -> None:
    """A page of a public address asks for a private one by every means: nothing arrives there."""
    inside = await serve(page("secret"))
    host = f"{inside.origin.removeprefix('http://')}"
    script = f"""fetch('http://{host}/fetch', {{mode: 'no-cors'}}); new Image().src = 'http://{host}/image'
    new WebSocket('ws://{host}/socket'); new Worker(URL.createObjectURL(new Blob(["importScripts('http://{host}/w')"])))
    navigator.sendBeacon('http://{host}/beacon', 'x'); new EventSource('http://{host}/events')"""
    markup = (
        f"<script src=http://{host}/script></script><link rel=stylesheet href=http://{host}/style>"
        f"<link rel=prefetch href=http://{host}/prefetch><iframe src=http://{host}/frame></iframe>"
        f"<form id=f method=post action=http://{host}/form></form><script>{script}; f.submit()</script>"
    )
    site = await serve(page(markup))
    client = await browser(below=lambda fetch, sink: Guarded(site.url, fetch, sink))
    assert isinstance(await client.ask(site.url), Response)
    assert len(site.heads) == 1
    assert inside.heads == []


async def test_page_of_a_forbidden_address_is_not_fetched(serve, browser: Open) -> None:
    site = await serve(page("secret"))
    result = await (await browser(allow_private=False)).ask(site.url)
    assert isinstance(result, Failure) and result.kind is FailureKind.FORBIDDEN_ADDRESS
    assert site.heads == []


async def test_page_that_hangs_or_grows_is_answered_as_sent(serve, browser: Open) -> None:
    """And the next one is rendered all the same."""
    server = Paths(
        {
            "/hang": page("<a href=/1></a><script>for (;;);</script>"),
            "/grow": page("<a href=/2></a><script>document.body.append('x'.repeat(300000))</script>"),
            "/never": page("<a href=/3></a><script>setInterval(() => fetch('/more?' + Math.random()), 10)</script>"),
            "/fine": page("<script>document.write('<a href=/4></a>')</script>"),
        }
    )
    site = await serve(server)
    client = await browser(
        BrowserSettings(tabs=1, load_s=1.0, settle_s=0.5, quiet_s=0.05, max_requests=5), max_content_bytes=100_000
    )
    for path, wanted in (("hang", "/1"), ("grow", "/2"), ("never", "/3"), ("fine", "/4")):
        response = await client.ask(site.url + path)
        assert links(response) == [wanted]
    assert sum("more" in path for path in server.asked) <= 5


async def test_browser_that_died_is_started_again(serve, browser: Open) -> None:
    site = await serve(page("<script>document.write('<a href=/4></a>')</script>"))
    client = await browser()
    assert links(await client.ask(site.url)) == ["/4"]
    fetcher = client.fetcher
    assert isinstance(fetcher, BrowserFetcher) and fetcher._chromium._browser
    await fetcher._chromium._browser.close()
    await client.ask(site.url)
    assert links(await client.ask(site.url)) == ["/4"]


async def test_missing_browser_is_the_users_matter() -> None:
    fetcher = BrowserFetcher(
        FetchSettings(),
        print,
        BrowserSettings(executable="no-such-browser"),
        lambda sink: AioFetcher(FetchSettings(), sink),
    )
    with pytest.raises(UsageError, match="no-such-browser is not on PATH"):
        await fetcher.open()
