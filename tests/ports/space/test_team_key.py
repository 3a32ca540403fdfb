"""Tuples that were not written with the team key, on a real server: refused, counted, shown; nothing stops."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import redis.asyncio as redis

from gcs.core.messages.codec import encode
from gcs.core.messages.seal import Seal
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, LeaderLease, Link, UrlBlock
from gcs.errors import UsageError
from gcs.ports.space.address import SpaceAddress, SpaceSettings
from gcs.ports.space.port import IfAbsent, IfHolds, Numbered, Space
from gcs.ports.space.redis_space import open_space
from gcs.ports.space.team_key import team_key

KEY, OTHER = "a" * 32, "b" * 32
BLOCK = UrlBlock(1, [Link("http://a.example/")])


@asynccontextmanager
async def opened(url: str, key: str, name: str = "g0", crawl: str = "c") -> AsyncIterator[Space]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GCS_SPACE_KEY", raising=False)
        if key:
            patch.setenv("GCS_SPACE_KEY", key)
        space = await open_space(url, crawl=crawl, name=name, settings=SpaceSettings(patience_s=10))
    try:
        yield space
    finally:
        await space.close()


@pytest.fixture
async def raw(embedded: str) -> AsyncIterator[redis.Redis]:
    """An intruder who can write to the server."""
    client = redis.Redis(unix_socket_path=embedded.removeprefix("unix://"))
    await client.flushall()
    yield client
    await client.aclose()


async def test_intruders_tuples_are_refused_counted_and_kept(embedded: str, raw: redis.Redis) -> None:
    async with opened(embedded, KEY) as space, opened(embedded, KEY, "g1") as sender:
        await space.take_many([template(UrlBlock)], at="g0", limit=1)  # makes the stream
        stream = "{gcs:c:g0}:urls"
        for payload in (encode(BLOCK), Seal(OTHER.encode()).close(encode(BLOCK), b""), b"\xfe\x01", b""):
            await raw.xadd(stream, {"p": payload, "s": "g1", "n": 1})
        await raw.xadd(stream, {"p": encode(BLOCK), "s": b"\xff", "n": "x"})
        await sender.out_many(UrlBlock, [BLOCK], to="g0", numbered=Numbered("g1", 1, 1))
        [taken] = await space.take_many([template(UrlBlock)], at="g0", limit=10, timeout_s=5)
        assert taken.item == BLOCK
        assert (taken.sender, taken.number) == ("g1", 1)
        assert (await space.flows(UrlBlock, at="g0"))["g1"].committed == 0  # no forged number was committed
        assert await space.ack([taken]) == 1
        assert space.refusals.total == 4  # what is no tuple at all is thrown away
        letters = await space.dead_letters("g0")
        assert [letter.deliveries for letter in letters] == [0] * 4
        assert sum("has no seal" in letter.reason for letter in letters) == 2
        assert sum("wrong seal" in letter.reason for letter in letters) == 2


async def test_copies_into_other_crawls_inboxes_and_flows_are_refused(embedded: str, raw: redis.Redis) -> None:
    async with opened(embedded, KEY, crawl="c") as space, opened(embedded, KEY, crawl="d") as other:
        await space.out_many(UrlBlock, [BLOCK], to="g0", numbered=Numbered("g1", 1, 1))
        [(_, fields)] = await raw.xrange("{gcs:c:g0}:urls")
        for crawl, inbox in (("d", "g0"), ("c", "g9")):
            await other.take_many([template(UrlBlock)], at="g0", limit=1)
            await space.take_many([template(UrlBlock)], at="g9", limit=1)
            await raw.xadd(f"{{gcs:{crawl}:{inbox}}}:urls", fields)
        await raw.xadd("{gcs:c:g0}:urls", fields | {b"n": b"2"})
        assert await other.take_many([template(UrlBlock)], at="g0", limit=9) == []
        assert await space.take_many([template(UrlBlock)], at="g9", limit=9) == []
        assert len(await space.take_many([template(UrlBlock)], at="g0", limit=9)) == 1


async def test_posted_tuple_of_an_intruder_is_not_there(
    embedded: str, raw: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "gcs")
    async with opened(embedded, KEY) as space:
        await space.out(Control(CrawlState.RUNNING, "crew"))
        await raw.xadd("{gcs:c}:control", {"p": encode(Control(CrawlState.STOPPING, "me")), "k": ""})
        for _ in range(3):
            assert [each.state for each in await space.scan(template(Control))] == [CrawlState.RUNNING]
        assert space.refusals.total == 1
        assert [record.getMessage() for record in caplog.records] == ["space.refused"]
        assert KEY not in caplog.text


async def test_conditions_on_the_board_hold_for_sealed_tuples(embedded: str, raw: redis.Redis) -> None:
    async with opened(embedded, KEY) as space:
        lease = LeaderLease("g0", 1)
        assert not (await space.out(lease, given=IfAbsent())).refused
        assert (await space.out(lease, given=IfAbsent())).refused
        assert not (await space.out(Control(CrawlState.DONE), given=IfHolds(lease))).refused
        assert (await space.out(Control(CrawlState.DONE), given=IfHolds(LeaderLease("g0", 2)))).refused


@pytest.mark.parametrize(("writer", "reader", "words"), [
    (KEY, "", "this process has none"), ("", KEY, "has no seal"), (KEY, OTHER, "another team key"),
])  # fmt: skip
async def test_mixture_of_keys_is_told(embedded: str, raw: redis.Redis, writer: str, reader: str, words: str) -> None:
    async with opened(embedded, writer) as ours, opened(embedded, reader) as theirs:
        await ours.out(Control(CrawlState.RUNNING))
        assert await theirs.read(template(Control)) is None
        assert words in theirs.refusals.reasons[Control]


def test_key_comes_from_the_address_the_variable_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    both = {"GCS_SPACE_KEY": OTHER, "GCS_SPACE_KEY_FILE": str(file)}
    assert team_key(SpaceAddress(options={"team_key": str(file)}), both) == KEY.encode()
    assert team_key(SpaceAddress(), both) == OTHER.encode()
    assert team_key(SpaceAddress(), {"GCS_SPACE_KEY_FILE": str(file)}) == KEY.encode()
    assert team_key(SpaceAddress(), {}) == b""


@pytest.mark.parametrize("key", ["", "short", "x" * 5000])
def test_key_that_is_none_is_refused_and_not_shown(tmp_path: Path, key: str) -> None:
    file = tmp_path / "key"
    file.write_text(key)
    for environment in ({"GCS_SPACE_KEY": key}, {"GCS_SPACE_KEY_FILE": str(file)}):
        with pytest.raises(UsageError, match="openssl rand") as failed:
            team_key(SpaceAddress(), environment)
        assert not key or key not in str(failed.value)
    with pytest.raises(UsageError, match="cannot be read"):
        team_key(SpaceAddress(), {"GCS_SPACE_KEY_FILE": str(tmp_path / "none")})


async def test_flood_of_forged_tuples_is_refused_in_few_calls(embedded: str, raw: redis.Redis) -> None:
    async with opened(embedded, KEY) as space:
        await space.take_many([template(UrlBlock)], at="g0", limit=1)
        pipe = raw.pipeline()
        for number in range(3000):
            pipe.xadd("{gcs:c:g0}:urls", {"p": encode(BLOCK), "s": "g1", "n": number})
        await pipe.execute()
        await space.out(BLOCK, to="g0")
        await raw.config_resetstat()
        taken = await space.take_many([template(UrlBlock)], at="g0", limit=500, timeout_s=10)
        assert [each.item for each in taken] == [BLOCK]
        calls = (await raw.info("commandstats")).get("cmdstat_evalsha", {}).get("calls", 0)
        assert space.refusals.total == 3000 and calls < 50
