"""The fake web as a server, in process and in a process of its own, asked by aiohttp and by bare sockets."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator

import aiohttp
import pytest

from gcs.errors import GcsError, UsageError
from gcs.fakeweb import FakeWebSpec, Manner, survey
from gcs.fakeweb.server import FakeWeb, FakeWebProcess

ALL = FakeWebSpec.full(hosts=1, pages=40, slow_s=0.05, retry_after_s=1)


@pytest.fixture
async def server() -> AsyncIterator[FakeWeb]:
    """One host with every exhibit."""
    async with FakeWeb(ALL) as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
        yield session


async def get(client: aiohttp.ClientSession, url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    async with client.get(url, allow_redirects=False, headers=headers) as answer:
        return answer.status, {k.lower(): v for k, v in answer.headers.items()}, await answer.read()


async def bare(server: FakeWeb, request: bytes) -> bytes:
    """All that the server sends until it hangs up."""
    site = server.web.sites[0]
    reader, writer = await asyncio.open_connection(site.address, server.port)
    writer.write(request)
    try:
        return await reader.read()
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def test_server_serves_every_page_of_the_survey_and_logs_it(
    server: FakeWeb, client: aiohttp.ClientSession
) -> None:
    truth = survey(server.web)
    bodies = {}
    for url in sorted(truth.pages):
        status, headers, body = await get(client, url)
        if status in (429, 503):
            assert headers["retry-after"] == "1"
            status, headers, body = await get(client, url)
        assert status == 200
        bodies[url] = body
    assert bodies == {url: server.web.body(server.web.plan(url)) for url in truth.pages}
    log = server.log
    assert set(log.hits) == truth.pages
    assert log.repeated() == {url: 2 for url in truth.pages if server.web.plan(url).manner is Manner.FLAKY} | {
        url: 2 for url in truth.pages if server.web.plan(url).manner is Manner.RESET_ONCE
    }
    assert log.forbidden == []
    assert log.statuses[200] == len(truth.pages)
    host = log.hosts[server.web.sites[0].address]
    assert (host.requests, host.in_flight, host.max_in_flight) == (log.requests, 0, 1)
    assert log.header_values("Accept-Encoding")


async def test_server_answers_failures_as_the_survey_says(server: FakeWeb, client: aiohttp.ClientSession) -> None:
    ways = {"reset": aiohttp.ClientOSError, "cut": aiohttp.ClientPayloadError, "encoding": aiohttp.ClientPayloadError}
    checked = set()
    for url, why in survey(server.web).failed.items():
        if why.isdigit():
            assert (await get(client, url))[0] == int(why)
        elif why in ways:
            with pytest.raises(ways[why]):
                await get(client, url)
        elif why == "garbage":
            with pytest.raises(aiohttp.ClientResponseError):
                await get(client, url)
        else:
            continue
        checked.add(why)
    assert checked == {"302", "403", "404", "410", "500", "reset", "cut", "encoding", "garbage"}


async def test_server_redirects_lead_to_their_targets(server: FakeWeb, client: aiohttp.ClientSession) -> None:
    for url, target in survey(server.web).redirects.items():
        status, _, _ = await get(client, url)
        assert status in (301, 302, 303, 307, 308)
        assert server.web.plan(url).status == status
        if target.endswith("arrived.html"):
            async with client.get(url) as final:
                assert str(final.url).partition("#")[0] == target


async def test_server_endless_body_does_not_end(server: FakeWeb, client: aiohttp.ClientSession) -> None:
    async with client.get(server.seeds[0] + "hostile/endless.html") as answer:
        received = 0
        while received < 4 << 20:
            received += len(await answer.content.readany())
    assert (await get(client, server.seeds[0]))[0] == 200


async def test_server_hanging_page_sends_nothing(server: FakeWeb, client: aiohttp.ClientSession) -> None:
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(get(client, server.seeds[0] + "hostile/hang.html"), 0.2)
    while server.log.hosts[server.web.sites[0].address].in_flight:
        await asyncio.sleep(0.01)


async def test_server_answers_304_to_a_copy_that_is_still_good(server: FakeWeb, client: aiohttp.ClientSession) -> None:
    url = next(url for url in sorted(survey(server.web).pages) if server.web.plan(url).modified_s)
    _, first, _ = await get(client, url)
    by_tag = await get(client, url, **{"If-None-Match": first["etag"]})
    by_date = await get(client, url, **{"If-Modified-Since": first["last-modified"]})
    assert by_tag[0] == by_date[0] == 304
    assert by_tag[2] == b""
    assert by_tag[1]["etag"] == first["etag"]
    assert (await get(client, url, **{"If-None-Match": '"other"'}))[0] == 200
    assert (await get(client, url, **{"If-Modified-Since": "Mon, 01 Jan 2001 00:00:00 GMT"}))[0] == 200
    assert (await get(client, url, **{"If-Modified-Since": "no date"}))[0] == 200


async def test_server_set_session_changes_what_is_served(client: aiohttp.ClientSession) -> None:
    spec = FakeWebSpec.plain(hosts=2, pages=100, validators=True, changed_share=0.3, added_share=0.1)
    async with FakeWeb(spec) as server:
        before = survey(server.web).pages
        tags = {url: (await get(client, url))[1]["etag"] for url in before}
        server.set_session(2)
        answers = {url: (await get(client, url, **{"If-None-Match": tag}))[0] for url, tag in tags.items()}
        assert set(answers.values()) == {200, 304}
        assert 10 <= sum(status == 200 for status in answers.values()) <= 50
        added = survey(server.web).pages - before
        assert len(added) == 10
        assert {(await get(client, url))[0] for url in added} == {200}


async def test_server_counts_requests_that_robots_refuse(server: FakeWeb, client: aiohttp.ClientSession) -> None:
    forbidden = sorted(survey(server.web).forbidden)
    assert forbidden
    for url in forbidden:
        await get(client, url)
    assert server.log.forbidden == forbidden
    server.reset()
    assert server.log.requests == 0


async def test_server_first_tries_start_again_after_reset(server: FakeWeb, client: aiohttp.ClientSession) -> None:
    url = server.seeds[0] + "err/503.html"
    assert [(await get(client, url))[0] for _ in range(3)] == [503, 200, 200]
    server.reset()
    assert [(await get(client, url))[0] for _ in range(2)] == [503, 200]


async def test_server_measures_gaps_and_parallel_requests(client: aiohttp.ClientSession) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=2, pages=2, latency_s=0.1)) as server:
        first, second = server.web.homes
        await asyncio.gather(get(client, first), get(client, first), get(client, second))
        await get(client, first)
        hosts = [server.log.hosts[site.address] for site in server.web.sites]
        assert [host.requests for host in hosts] == [3, 1]
        assert [host.max_in_flight for host in hosts] == [2, 1]
        assert hosts[0].min_gap_s is not None
        assert hosts[0].min_gap_s < 0.1  # the two that went together
        assert hosts[1].min_gap_s is None
        starts = server.log.hits[first]
        assert starts[2] - starts[0] >= 0.1  # the third waited for an answer


async def test_server_answers_pipelined_requests_in_order(server: FakeWeb) -> None:
    one = f"GET /nothing HTTP/1.1\r\nHost: {server.web.sites[0].address}\r\n\r\n".encode()
    slow = one.replace(b"/nothing", b"/slow/late.html")
    last = one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n").replace(b"/nothing", b"/files/pixel.png")
    raw = await bare(server, slow + one * 400 + last)
    assert raw.count(b"HTTP/1.1 200 OK") == 2
    assert raw.count(b"HTTP/1.1 404 Not Found") == 400
    assert raw.index(b"late") < raw.index(b"404 Not Found") < raw.rindex(b"image/png")
    assert server.log.connections == 1


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", b"405"),
        (b"hello\r\n\r\n", b"400"),
        (b"GET http://127.9.9.9/ HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /" + b"a" * 70_000, b"431"),
    ],
)
async def test_server_refuses_what_is_no_request_to_it(server: FakeWeb, request_bytes: bytes, status: bytes) -> None:
    assert (await bare(server, request_bytes)).startswith(b"HTTP/1.1 " + status)
    assert server.log.requests == 0


async def test_server_head_has_no_body_and_http_10_closes(server: FakeWeb) -> None:
    head = await bare(server, b"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert head.endswith(b"\r\n\r\n")
    assert b"Content-Length: " in head
    assert b"</html>" in await bare(server, b"GET / HTTP/1.0\r\n\r\n")


async def test_server_serves_as_a_proxy(server: FakeWeb, client: aiohttp.ClientSession) -> None:
    proxy = f"http://{server.web.sites[0].address}:{server.port}"
    async with client.get(server.seeds[0], proxy=proxy) as answer:
        assert answer.status == 200
    assert list(server.log.hits) == [server.seeds[0]]


async def test_server_binds_loopback_addresses_only(server: FakeWeb) -> None:
    """Nothing listens at the same port on an address that is not a host of the web."""
    with socket.socket() as probe:
        assert probe.connect_ex(("127.9.9.9", server.port)) != 0
    with socket.socket() as probe:
        assert probe.connect_ex((server.web.sites[0].address, server.port)) == 0


async def test_server_runs_hundreds_of_hosts(client: aiohttp.ClientSession) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=600, pages=600)) as server:
        assert len({site.address for site in server.web.sites}) == 600
        for home in server.web.homes[::50]:
            assert (await get(client, home))[0] == 200


async def test_server_says_which_port_is_in_use(server: FakeWeb) -> None:
    with pytest.raises(UsageError, match=f"127.1.0.1:{server.port}.*another port"):
        async with FakeWeb(ALL, port=server.port):
            pass


async def test_process_is_the_same_web_with_a_log_over_http(client: aiohttp.ClientSession) -> None:
    spec = FakeWebSpec.plain(hosts=3, pages=60, validators=True, changed_share=1.0)
    with FakeWebProcess(spec) as server:
        pages = survey(server.web).pages
        for url in pages:
            status, _, body = await get(client, url)
            assert (status, body) == (200, server.web.body(server.web.plan(url)))
        log = server.log
        assert set(log.hits) == pages
        assert log.statuses == {200: 60}
        assert log.hosts[server.web.sites[0].address].min_gap_s > 0
        etag = server.web.plan(server.seeds[0]).etag
        server.set_session(2)
        assert (await get(client, server.seeds[0], **{"If-None-Match": etag}))[0] == 200
        server.reset()
        assert server.log.requests == 0
        with pytest.raises(UsageError, match="session"):
            server.set_session(0)
    with socket.socket() as probe:
        assert probe.connect_ex((server.web.sites[0].address, server.port)) != 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says when bytes came")
async def test_process_logs_when_requests_came_however_late_it_reads_them() -> None:
    """A server that gets no CPU for a while finds two requests, which came one after the other."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=3)) as web:
        address, pages = ("127.1.0.1", web.web.port), sorted(survey(web.web).pages)[:2]
        os.kill(web.pid, signal.SIGSTOP)
        clients = []
        for page in pages:
            clients.append(socket.create_connection(address))
            clients[-1].sendall(f"GET /{page.split('/', 3)[3]} HTTP/1.1\r\nHost: 127.1.0.1\r\n\r\n".encode())
            await asyncio.sleep(0.3)
        os.kill(web.pid, signal.SIGCONT)
        for each in clients:
            await asyncio.to_thread(each.recv, 1)
            each.close()
        first, second = (at for page in pages for at in web.log.hits[page])
        least_s = web.log.hosts["127.1.0.1"].min_gap_s
    assert second - first > 0.25
    assert least_s == second - first


def test_process_ends_on_sigterm_and_refuses_a_wrong_spec() -> None:
    command = [sys.executable, "-m", "gcs.fakeweb.server", "--spec"]
    with subprocess.Popen([*command, "{}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        ready = json.loads(child.stdout.readline())
        assert ready["hosts"] == 20
        assert ready["seeds"] == [f"http://127.1.0.1:{ready['port']}/"]
        child.terminate()
        assert child.wait(10) == 0
    for wrong in ('{"hots": 3}', "not json", '{"hosts": 0}'):
        done = subprocess.run([*command, wrong], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith("fake web: ")
        assert done.stderr.count("\n") == 1


def test_process_tells_when_its_port_is_taken(capfd: pytest.CaptureFixture[str]) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=1)) as server:
        with pytest.raises(GcsError, match="ended with code 2"), FakeWebProcess(ALL, port=server.port):
            pass
        assert f"127.1.0.1:{server.port}" in capfd.readouterr().err
