"""`gcs space` on a real embedded server, found by the directory of the crawl or by its URL."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Link, Member, UrlBlock
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.redis_space import open_space


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A whiteboard with two members, three blocks of which one is held, and a dead letter."""
    server = EmbeddedServer(tmp_path / "crawl" / "state" / "space")
    url = server.start()

    async def fill() -> None:
        space = await open_space(url, crawl="news", name="g1", settings=SpaceSettings(max_deliveries=1))
        await space.out(Member("g1", "r", epoch=3))
        await space.out(Member("g2", "r", epoch=4))
        await space.out(UrlBlock(9, [Link("http://dead/")]), to="g1")
        await space.take(template(UrlBlock), at="g1")
        await asyncio.sleep(0.01)
        assert await space.take(template(UrlBlock), at="g1", lease_s=0.005) is None
        for epoch in (1, 2, 2):
            await space.out(UrlBlock(epoch, [Link("http://a/")]), to="g1")
        await space.take(template(UrlBlock), at="g1")
        await space.close()

    asyncio.run(fill())
    yield url
    server.stop()


def test_space_ls_lists_every_pile(call, url):
    done = call("space", "ls")
    assert done.code == 0, done.err
    rows = [line.split() for line in done.out.splitlines()]
    assert rows[0] == ["INBOX", "TYPE", "TUPLES", "BYTES", "HELD"]
    assert [(row[0], row[1], row[2], row[4]) for row in rows[1:]] == [
        ("g1", "dead", "1", "0"),
        ("g1", "urls", "3", "1"),
        ("(board)", "member", "2", "0"),
    ]


def test_space_ls_json(call, url):
    piles = json.loads(call("space", "ls", "--space", url, "--crawl", "news", "--json").out)
    assert {(pile["place"], pile["kind"]): pile["tuples"] for pile in piles} == {
        ("g1", "dead"): 1,
        ("g1", "urls"): 3,
        ("", "member"): 2,
    }
    assert all(pile["size_bytes"] > 0 for pile in piles)


def test_space_peek_shows_tuples_and_leaves_them(call, url):
    done = call("space", "peek", "member", "--json", "--where", "epoch=4")
    assert [(member["type"], member["gatherer"]) for member in json.loads(done.out)] == [("member", "g2")]
    assert call("space", "peek", "urls", "g1", "-n", "1").out.startswith('urls epoch=1 links=[["http://a/",1,0,""]]')
    assert call("space", "count", "urls", "g1").out == "3\n"


def test_space_peek_shows_dead_letters(call, url):
    (letter,) = json.loads(call("space", "peek", "dead", "g1", "--json").out)
    assert (letter["kind"], letter["reason"], letter["taker"]) == ("urls", "delivered 1 times", "g1")
    assert call("space", "count", "dead", "g1").out == "1\n"


def test_space_count_takes_patterns(call, url):
    count = ("space", "count", "urls", "g1", "--json")
    assert json.loads(call(*count, "--where", "epoch=2").out) == {"count": 2}
    assert json.loads(call(*count, "--where", "epoch=2", "--where", "epoch=1").out) == {"count": 3}
    assert json.loads(call("space", "count", "member", "--where", "gatherer=g1", "--json").out) == {"count": 1}


def test_space_rm_throws_away_what_fits_if_it_may(call, url):
    assert json.loads(call("space", "rm", "urls", "g1", "--where", "epoch=2", "--yes", "--json").out) == {"removed": 2}
    assert call("space", "rm", "dead", "g1", "--yes").out == "1 removed\n"
    assert call("space", "count", "urls", "g1").out == "1\n"
    assert call("space", "count", "dead", "g1").out == "0\n"


def test_space_rm_asks_first(gcs, url):
    done = gcs("space", "rm", "member", stdin="n\n")
    assert (done.code, "Throw away member of the board?" in done.out) == (130, True)
    assert gcs("space", "rm", "member", stdin="y\n").out.endswith("2 removed\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("peek", "nonsense"), "there is no tuple type 'nonsense'; there are access,"),
        (("peek", "member", "--where", "epoch"), "write FIELD=VALUE"),
        (("peek", "member", "--where", "trem=1"), "a member tuple has no field 'trem'"),
        (("peek", "member", "g1"), "member tuples are on the board"),
        (("peek", "urls"), "urls tuples are in an inbox"),
        (("ls", "--space", "http://a/"), "the scheme is none of unix, redis"),
        (("ls", "--crawl", "a:b"), "crawl name 'a:b' is not usable"),
    ],
)
def test_space_says_what_is_wrong(call, url, arguments, message):
    done = call("space", *arguments)
    assert (done.code, message in done.err, done.out) == (2, True, "")


def test_space_without_a_crawl_says_where_it_looked(call):
    done = call("space", "ls")
    assert done.code == 2
    assert "crawl: no team is crawling here" in done.err


@pytest.mark.parametrize(
    "words", [("helper",), ("gatherer", "--name", "g9", "-o", "g9"), ("seed-server", "-o", "s"), ("stop",)]
)
def test_who_finds_no_crawl_at_a_whiteboard_shows_no_password(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("gcs.app.find_crawl.CHARTER_S", 0.1)
    server = EmbeddedServer(tmp_path / "space")
    try:
        with socket.create_server(("127.0.0.1", 0)) as free, redis.Redis.from_url(server.start()) as owner:
            port = free.getsockname()[1]
            free.close()
            owner.config_set("requirepass", "hush")
            try:
                owner.config_set("port", port)
            except redis.ResponseError:
                pytest.skip("this Redis (before 7) cannot be moved to a port")
        done = call(*words, "--space", f"redis://:hush@127.0.0.1:{port}")
    finally:
        server.stop()
    assert done.code and "127.0.0.1" in done.err and "crawl" in done.err, done.err
    assert "hush" not in done.err
