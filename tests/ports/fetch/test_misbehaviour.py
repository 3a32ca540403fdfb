"""Servers that misbehave, asked by every engine: each ends as one Failure of the right kind, in one clear line."""

import asyncio
import gzip
import random
import socket
import zlib

import pytest

from gcs.core.page.values import Failure, FailureKind, Request, Response, Result
from gcs.ports.fetch import FetchSettings
from tests.limits import memory_limit

HEAD = b"HTTP/1.1 200 OK\r\n"
PAGE = " ".join(map(str, range(2000))).encode()


def broken(wbits: int) -> bytes:
    """A compressed page with a block in its middle that is none."""
    stream = zlib.compressobj(wbits=wbits)
    return (
        stream.compress(PAGE) + stream.flush(zlib.Z_FULL_FLUSH) + b"\xff" * 20 + stream.compress(PAGE) + stream.flush()
    )


def failed(result, kind: FailureKind, words: str) -> None:
    assert isinstance(result, Failure), result
    assert (result.kind, words in result.message) == (kind, True), result
    assert "\n" not in result.message
    assert 0 <= result.elapsed_s < 20


def says(data: bytes):
    """A server that says this and hangs up."""

    async def answer(conversation) -> None:
        await conversation.send(data)
        conversation.writer.close()

    return answer


def forever(first: bytes, again: bytes):
    """A server that does not stop until its client hangs up."""

    async def answer(conversation) -> None:
        await conversation.send(first)
        while True:
            await conversation.send(again)

    return answer


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"", "closed the connection without an answer"),
        (b"\x00\x01\x02garbage\xff\xfe" * 50, "not HTTP"),
        (b"<html>this is HTTP/0.9</html>", "not HTTP"),
        (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "not HTTP"),
        (b"220 mail.example.org ESMTP\r\n", "not HTTP"),
        (b"HTTP/1.1 2xx What\r\nContent-Length: 0\r\n\r\n", ""),
        (b"HTTP/1.1 000 What\r\nContent-Length: 0\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", "in the middle"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", ""),
    ],
)
async def test_answer_that_is_not_http_is_a_protocol_failure(serve, ask, sent: bytes, words: str) -> None:
    failed(await ask((await serve(says(sent))).url), FailureKind.PROTOCOL, words)


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", b"short"),
        (b"HTTP/1.1 404 No\r\nContent-Length: 100\r\n\r\nshort", b"short"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", b"ab"),
    ],
)
async def test_body_that_breaks_off_is_a_response_as_far_as_it_came(serve, ask, sent: bytes, body: bytes) -> None:
    result = await ask((await serve(says(sent))).url)
    assert (result.status, result.body, result.content) == (int(sent[9:12]), body, body)
    assert result.truncated == "disconnect"


async def test_connection_reset_in_the_body_leaves_what_came(serve, ask) -> None:
    async def reset(conversation) -> None:
        await conversation.send(HEAD + b"Content-Length: 100000\r\n\r\nsome")
        await asyncio.sleep(0.05)
        conversation.writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
        )
        conversation.reset()

    result = await ask((await serve(reset)).url)
    assert (result.status, result.body, result.truncated) == (200, b"some", "disconnect")


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (HEAD + b"Content-Length: 999999999\r\n\r\n", b"x" * 10_000),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"3e8\r\n" + b"x" * 1000 + b"\r\n"),
        (b"HTTP/1.0 200 OK\r\n\r\n", b"x" * 10_000),
    ],
    ids=["length", "chunked", "until-close"],
)
async def test_body_over_the_limit_is_cut_there(serve, ask, first: bytes, again: bytes) -> None:
    site = await serve(forever(first, again))
    result = await ask(site.url, max_body_bytes=100_000)
    assert (result.status, len(result.body), result.truncated) == (200, 100_000, "length")
    assert result.content == b"x" * 100_000
    async with asyncio.timeout(20):
        await site.hung_up.wait()


async def test_body_of_tiny_chunks_takes_little_memory(serve, get) -> None:
    """A list of the chunks took a gigabyte for a body of 16 MB."""

    async def answer(conversation) -> None:
        await conversation.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(60):
            await conversation.send(b"2\r\nab\r\n" * 1_000)
        await conversation.send(b"0\r\n\r\n")

    site = await serve(answer)
    with memory_limit(5_000_000):
        assert (await get(site.url)).body == b"ab" * 60_000


@pytest.mark.parametrize(
    "again",
    [b"X-Header: " + b"x" * 1000 + b"\r\n", b"x" * 10_000, b"A: b\r\n" * 100],
    ids=["many", "one-line", "short"],
)
async def test_headers_without_end_are_too_large(serve, ask, again: bytes) -> None:
    site = await serve(forever(HEAD + b"X-First: ", again))
    failed(await ask(site.url, total_timeout_s=10), FailureKind.TOO_LARGE, "headers of the answer never end")


async def test_interim_answers_without_end_are_a_failure(serve, ask) -> None:
    site = await serve(forever(b"", b"HTTP/1.1 100 Continue\r\nX-Padding: " + b"x" * 500 + b"\r\n\r\n"))
    result = await ask(site.url, total_timeout_s=1)
    assert isinstance(result, Failure)
    assert result.kind in (FailureKind.TOO_LARGE, FailureKind.TIMEOUT)


async def test_gzip_bomb_is_unfolded_up_to_the_limit(serve, ask) -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    site = await serve(HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb)
    result = await ask(site.url, max_content_bytes=100_000)
    assert (result.body, result.content, result.truncated) == (bomb, b"\0" * 100_000, "length")


async def test_bombs_that_come_at_once_are_unfolded_one_after_the_other(serve, engine) -> None:
    """64 KB from each of 128 servers took 4 GB, before the first of these pages was read."""
    count, bomb = 40, gzip.compress(bytes(10 << 20))

    async def answer(conversation) -> None:
        async with site.asked:
            await site.asked.wait_for(lambda: len(site.heads) == count)
        await conversation.send(HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb)

    site = await serve(answer)
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    sizes: list[int] = []
    waiting: list[Response] = []

    def take_in(result: Result) -> None:
        """As a gatherer does: an answer waits for the next turn."""
        assert isinstance(result, Response)
        sizes.append(len(result.content))
        waiting.append(result)
        loop.call_soon(waiting.clear)
        if len(sizes) == count:
            done.set()

    fetcher = engine(FetchSettings(user_agent="test/1", allow_private=True), take_in)
    await fetcher.open()
    with memory_limit(160 << 20):
        for _ in range(count):
            fetcher.start(Request(site.url))
        async with asyncio.timeout(60):
            await done.wait()
    assert sizes == [10 << 20] * count
    assert fetcher.in_flight == 0
    await fetcher.close()


async def test_large_bodies_share_a_budget_and_usual_pages_pass(serve, client) -> None:
    """Of 128 servers that send 16 MB slowly, and do not end, the bodies would take 2 GB."""
    fetching = await client(connections=8, bodies_bytes=400_000)
    site = await serve(forever(HEAD + b"Content-Length: 10000000\r\n\r\n", b"x" * 20_000))
    good = await serve(HEAD + b"Content-Length: 40000\r\n\r\n" + b"y" * 40_000)
    with memory_limit(16 << 20):
        results = await asyncio.gather(*[fetching.ask(each.url) for each in (*[site] * 8, *[good] * 4)])
    assert [(len(each.body), each.truncated) for each in results[8:]] == [(40_000, "")] * 4
    assert {each.truncated for each in results[:8]} == {"length"}
    assert all(50_000 < len(each.body) < 1_000_000 for each in results[:8])
    assert len((await fetching.ask(good.url)).body) == 40_000
    assert fetching.fetcher._bodies._held == 0


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", b"<html>plain after all"),
        ("deflate", b"\xff\xff\xff not deflate"),
        ("gzip", broken(31)),
        ("deflate", broken(15)),
        ("deflate", broken(-15)),
        ("rot13", b"uryyb"),
        ("gzip," * 50, b"hello"),
    ],
)
async def test_damaged_or_unknown_coding_leaves_the_body_as_sent(serve, ask, coding: str, body: bytes) -> None:
    site = await serve(HEAD + f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    result = await ask(site.url)
    assert (result.status, result.body, result.truncated) == (200, body, "unspecified")
    assert not body.startswith(result.content[:1] or b"-"), "no coded byte is taken for content"


async def test_closed_port_is_a_connect_failure(ask) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        result = await ask(f"http://127.0.0.1:{unused.getsockname()[1]}/")
    failed(result, FailureKind.CONNECT, "connection refused")


async def test_name_that_does_not_resolve_is_a_dns_failure(ask) -> None:
    """A label of over 63 characters fails without a question to any name server."""
    failed(await ask(f"http://{'a' * 64}.test/"), FailureKind.DNS, "does not resolve")


async def test_address_that_does_not_answer_is_a_connect_timeout(ask) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = [socket.socket() for _ in range(4)]  # the backlog is full, further connections hang
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        result = await ask(
            f"http://127.0.0.1:{full.getsockname()[1]}/", connect_timeout_s=0.2, first_byte_timeout_s=0.1
        )
        for filler in fillers:
            filler.close()
    failed(result, FailureKind.TIMEOUT, "no connection within 0.2 s")


async def test_server_that_says_nothing_is_a_first_byte_timeout(serve, ask) -> None:
    async def nothing(conversation) -> None:
        await conversation.reader.read()
        conversation.writer.close()

    site = await serve(nothing)
    failed(await ask(site.url, first_byte_timeout_s=0.2), FailureKind.TIMEOUT, "no answer within 0.2 s")
    async with asyncio.timeout(20):
        await site.hung_up.wait()


def dripping(pause_s: float):
    async def drip(conversation) -> None:
        await conversation.send(HEAD + b"Content-Length: 100000\r\n\r\n")
        while True:
            await conversation.send(b"x" * 10)
            await asyncio.sleep(pause_s)

    return drip


async def test_answer_that_drips_is_too_slow(serve, ask) -> None:
    site = await serve(dripping(0.02))
    result = await ask(site.url, slow_s=0.3, slow_bytes_per_s=5000)
    assert (result.status, result.truncated) == (200, "time") and set(result.body) == set(b"x")


async def test_answer_that_stalls_is_too_slow(serve, ask) -> None:
    site = await serve(dripping(20))
    result = await ask(site.url, slow_s=0.2)
    assert (result.status, result.body, result.truncated) == (200, b"x" * 10, "time")


async def test_answer_that_takes_too_long_is_a_timeout(serve, ask) -> None:
    site = await serve(dripping(0.02))
    result = await ask(site.url, total_timeout_s=0.3, slow_bytes_per_s=0)
    assert (result.status, result.truncated) == (200, "time") and set(result.body) == set(b"x")


async def test_slow_but_steady_answer_is_a_response(serve, ask) -> None:
    """Several looks at the speed, each of which finds it sufficient."""

    async def steady(conversation) -> None:
        await conversation.send(HEAD + b"Content-Length: 200\r\n\r\n")
        for _ in range(20):
            await conversation.send(b"x" * 10)
            await asyncio.sleep(0.06)

    result = await ask((await serve(steady)).url, slow_s=0.5, slow_bytes_per_s=2, first_byte_timeout_s=2.0)
    assert not isinstance(result, Failure), result
    assert result.body == b"x" * 200


async def test_answers_with_random_damage_have_one_result_each(serve, client) -> None:
    """Neither an exception nor silence, whatever the bytes."""
    chance = random.Random(11)
    whole = (
        HEAD + b"Content-Type: text/html\r\nContent-Length: 9\r\nX-Y: z\r\n\r\n<p>hello!",
        HEAD
        + b"Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n19\r\n%b\r\n0\r\n\r\n"
        % gzip.compress(b"hello")[:25],
        b"HTTP/1.1 103 Early\r\nLink: <x>\r\n\r\nHTTP/1.1 404 No\r\nSet-Cookie: a=b\r\n\r\ngone",
    )

    async def damaged(conversation) -> None:
        message = bytearray(chance.choice(whole))
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(message))
            message[at : at + chance.randint(0, 3)] = chance.choice(
                [b"", b"\r\n", b"\0", b"\xff", b":", b"9", b"HTTP/"]
            )
        await conversation.send(bytes(message))
        conversation.writer.close()

    site = await serve(damaged)
    fetching = await client(first_byte_timeout_s=1, total_timeout_s=2)
    results = [await fetching.ask(site.url) for _ in range(150)]
    assert {type(result).__name__ for result in results} == {"Response", "Failure"}
    assert all("\n" not in result.message for result in results if isinstance(result, Failure))
    assert fetching.fetcher.in_flight == 0


async def test_engine_serves_on_after_every_kind_of_failure(serve, client) -> None:
    fetching = await client(max_body_bytes=1000, first_byte_timeout_s=5.0)
    bad = [
        says(b""),
        says(b"garbage"),
        forever(HEAD + b"\r\n", b"x" * 5000),
        says(HEAD + b"Content-Encoding: x\r\n\r\ny"),
    ]
    good = await serve(HEAD + b"Content-Length: 2\r\n\r\nok")
    for behaviour in bad * 3:
        site = await serve(behaviour)
        results = await asyncio.gather(fetching.ask(site.url), fetching.ask(good.url))
        assert isinstance(results[0], Failure) or results[0].truncated
        assert results[1].body == b"ok"
    assert fetching.fetcher.in_flight == 0
