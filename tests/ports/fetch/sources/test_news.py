"""News, from a small NNTP server on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gcs.core.page.values import FailureKind
from gcs.core.url.sources import source_url
from gcs.ports.fetch.sources import LISTED

ARTICLE = b"From: ann@example.org\r\nSubject: Trees\r\n\r\nA line.\r\n..with a dot\r\n"


class NewsServer:
    """Speaks as much of RFC 3977 as a reader needs, and remembers what it was told."""

    def __init__(self, groups: dict[str, list[int]], greeting: bytes = b"200 welcome\r\n") -> None:
        self.groups, self.greeting = groups, greeting
        self.told: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self.greeting)
        while line := (await reader.readline()).decode().strip():
            self.told.append(line)
            writer.write(self.answer(*line.split(" ")))
        writer.close()

    def answer(self, verb: str, *words: str) -> bytes:
        numbers = self.groups.get(words[0], []) if words else []
        if verb == "LIST":
            lines = "".join(f"{name} 9 1 y\r\n" for name in self.groups)
            return f"215 list\r\n{lines}.\r\n".encode()
        if verb == "GROUP":
            if words[0] not in self.groups:
                return b"411 no such group\r\n"
            return f"211 {len(numbers)} {min(numbers, default=0)} {max(numbers, default=0)} {words[0]}\r\n".encode()
        if verb == "LISTGROUP":
            low, high = map(int, words[1].split("-"))
            shown = "".join(f"{number}\r\n" for number in numbers if low <= number <= high)
            return f"211 list\r\n{shown}.\r\n".encode()
        if verb == "ARTICLE":
            return b"220 article\r\n" + ARTICLE + b".\r\n" if words[0] == "5" else b"423 no such article\r\n"
        return b"205 bye\r\n" if verb == "QUIT" else b"500 what?\r\n"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        try:
            yield source_url(f"nntp://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        finally:
            server.close()


async def test_groups_articles_and_their_text(ask) -> None:
    async with NewsServer({"misc.test": [5, 9], "comp.lang.c": [1]}).running() as url:
        assert (await ask(url, url, allow_private=True)).body == b"./comp.lang.c/\n./misc.test/"
        group = await ask(f"{url}misc.test/", url, allow_private=True)
        assert (group.header("content-type"), group.body) == ("text/uri-list", b"./5\n./9")
        article = await ask(f"{url}misc.test/5", url, allow_private=True)
        assert (article.status, article.header("content-type")) == (200, "message/rfc822")
        assert article.content == ARTICLE.replace(b"\r\n..", b"\r\n.")
        assert (await ask(f"{url}misc.test/6", url, allow_private=True)).status == 404
        assert (await ask(f"{url}absent/", url, allow_private=True)).status == 404
        assert (await ask(f"{url}misc.test/x", url, allow_private=True)).status == 404


async def test_long_groups_with_gaps_are_listed_in_pieces(ask) -> None:
    numbers = [*range(1, LISTED), *range(500_000, 500_000 + LISTED)]
    async with NewsServer({"misc.test": numbers}).running() as url:
        found, place = [], f"{url}misc.test/"
        while place:
            *links, last = (await ask(place, url, allow_private=True)).body.decode().split("\n")
            place = source_url(last, place) if last.startswith("?") else ""
            found += links if place else [*links, last]
    assert found == [f"./{number}" for number in numbers]


async def test_a_url_cannot_say_two_commands(ask) -> None:
    server = NewsServer({"misc.test": [5]})
    async with server.running() as url:
        for path in ("misc.test%0D%0AQUIT/", "misc.test/5%0AQUIT", "misc.test/?after=1%0D%0AQUIT"):
            assert (await ask(f"{url}{path}", url, allow_private=True)).status == 404
    assert "QUIT" not in server.told


async def test_private_addresses_are_not_asked_unless_told(ask) -> None:
    server = NewsServer({})
    async with server.running() as url:
        assert (await ask(url, url)).kind is FailureKind.FORBIDDEN_ADDRESS
    assert not server.told


@pytest.mark.parametrize(
    ("greeting", "status"), [(b"400 not now\r\n", 503), (b"502 go away\r\n", 503), (b"", FailureKind.TIMEOUT)]
)
async def test_a_server_that_does_not_serve_is_no_end_of_the_crawl(ask, greeting: bytes, status: object) -> None:
    async with NewsServer({}, greeting).running() as url:
        result = await ask(url, url, allow_private=True, total_timeout_s=0.5)
    assert (result.kind if isinstance(status, FailureKind) else result.status) == status


async def test_nobody_there(ask) -> None:
    async with NewsServer({}).running() as url:
        pass
    assert (await ask(url, url, allow_private=True)).kind is FailureKind.CONNECT
