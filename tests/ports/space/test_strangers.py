"""Whatever others put into our keys, and whatever other versions of GCS write: no verb fails, and nothing is lost."""

import logging

import pytest

from gcs.core.messages import codec
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Link, Member, Seeds, UrlBlock
from gcs.ports.space import redis_space
from gcs.ports.space.port import IfHolds, Numbered

URLS, SEEDS, MEMBERS = template(UrlBlock), template(Seeds), template(Member)
JUNK = [
    ("foo", "bar"),
    ("p", ""),
    ("p", "junk"),
    ("p", "", "s", "", "n", "0"),
    ("p", "junk", "s", "", "n", "none"),
    ("p", "x", "s"),
    ("p", "x", "k", "y"),
    ("x", "1", "y", "2", "z", "3", "u", "4"),
]


@pytest.fixture
def newer(monkeypatch):
    """Makes this process write, and read, a later version of a type as well as ours."""

    def switch(kind, writes=True, reads=True):
        header = bytes((kind.code, 99 if writes else kind.version))
        monkeypatch.setitem(codec._headers, kind, (header, bytes((header[0], header[1] | codec.DEFLATED))))
        monkeypatch.setattr(redis_space, "LEFT", "?newer" if reads else "?older")
        known = codec._decoders[bytes((kind.code, kind.version))]
        for later in (bytes((kind.code, 99)), bytes((kind.code, 99 | codec.DEFLATED))):
            monkeypatch.setitem(codec._decoders, later, known)
            if not reads:
                monkeypatch.delitem(codec._decoders, later)

    return switch


@pytest.mark.parametrize("fresh", [True, False], ids=["arriving", "held"])
@pytest.mark.parametrize("entry", JUNK, ids=" ".join)
async def test_entry_of_a_stranger_is_thrown_away_counted_and_shown_once(on_redis, entry, fresh, caplog):
    space = await on_redis.open("g")
    stream, book, _ = space._keys.inbox("g", UrlBlock)
    await space.out(UrlBlock(1, [Link("http://a/")]), to="g")
    if fresh:
        assert len(await space.take_many([URLS], at="g", limit=9)) == 1  # the next take is XREADGROUP
    if len(entry) % 2:
        entry = (*entry, "odd")
    with caplog.at_level(logging.WARNING, "gcs.space"):
        for _ in range(3):
            await space._connection.command("XADD", stream, "*", *entry)
            await space._connection.command("XADD", stream, "*", *entry)
            await space.out(UrlBlock(2, [Link("http://b/")]), to="g")
            taken = await space.take_many([URLS], at="g", limit=9, timeout_s=5)
            assert {each.item.epoch for each in taken} <= {1, 2}
            assert len(taken) >= 1
    counted = int(await space._connection.command("HGET", book, "foreign") or 0)
    assert counted + len(await space.dead_letters("g")) == 6
    assert len([message for message in caplog.messages if message == "space.foreign-entries"]) <= 1
    assert await space.count_unread("g") == 0


@pytest.mark.parametrize("entry", JUNK, ids=" ".join)
async def test_entry_of_a_stranger_on_the_board_is_passed_over_and_shown_once(on_redis, entry, caplog):
    space = await on_redis.open("g")
    if len(entry) % 2:
        entry = (*entry, "odd")
    await space._connection.command("XADD", space._keys.inbox("", Member).stream, "*", *entry)
    await space.out(Member("g", "r"))
    with caplog.at_level(logging.WARNING, "gcs.space"):
        for _ in range(3):
            assert [member.gatherer for member in await space.scan(MEMBERS)] == ["g"]
    assert len(caplog.messages) <= 1
    assert space.unread.kinds == set()
    assert await space.take(template(Member, gatherer="g")) is not None
    assert await space.remove(MEMBERS) == 0


@pytest.mark.parametrize("number", range(3), ids=["stream", "book", "until"])
async def test_key_of_another_type_is_moved_out_of_the_way(on_redis, number, caplog):
    space = await on_redis.open("g")
    await space.out(Member("g", "r"))
    assert await space.take_many([URLS], at="g", limit=9) == []
    await space._connection.command("SET", space._keys.inbox("g", UrlBlock)[number], "mine")
    await space._connection.command("SET", space._keys.inbox("", Member)[number], "mine")
    with caplog.at_level(logging.WARNING, "gcs.space"):
        await space.out_many(UrlBlock, [UrlBlock(1, [])], to="g", numbered=Numbered("s", 1, 1))
        assert len(await space.take_many([URLS], at="g", limit=9)) == 1
        await space.out(Member("g", "r"))
        assert await space.read(MEMBERS) == Member("g", "r")
    assert set(caplog.messages) == {"space.foreign-key"}
    moved = [key for key in await space._connection.keys(space._keys.pattern) if key.endswith(":foreign")]
    assert len(moved) == 2
    assert {size.kind for size in await space.inbox_sizes()} == {"urls", "member"}


VALUES = ["junk", "", "12-q", b"\xff"]


@pytest.mark.parametrize("value", VALUES, ids=repr)
async def test_value_that_no_script_can_read_is_made_again(on_redis, value, caplog):
    """A byte that changed on the disk of the server is enough for that. The crawl stood still for ever."""
    space = await on_redis.open("g")
    blocks = [UrlBlock(number, []) for number in (1, 2, 3)]
    await space.out_many(UrlBlock, blocks, to="g", numbered=Numbered("s", 1, 1))
    await space.ack(await space.take_many([URLS], at="g", limit=1))
    await space.out(Seeds(["http://a/"]), to="seeds", ttl_s=99)
    await space.out(Member("g", "r"), ttl_s=99)
    await space.ticket("term", 7)
    books = [space._keys.inbox(*each).book for each in (("g", UrlBlock), ("seeds", Seeds), ("", Member))]
    for book in books:
        for field in await space._connection.command("HGETALL", book):
            await space._connection.command("HSET", book, field, value)
        await space._connection.command("ZADD", book.removesuffix("book") + "until", 1, value)
    await space._connection.command("HSET", space._keys.tickets, "term", value)

    with caplog.at_level(logging.WARNING, "gcs.space"):
        await space.out(Member("g", "s"))
        assert await space.scan(MEMBERS) == [Member("g", "s")], "the new one stands in place of the old one"
        assert (await space.flows(UrlBlock, at="g"))["s"].sent == 3
        receipt = await space.out_many(UrlBlock, [UrlBlock(4, [])], to="g", numbered=Numbered("s", 2, 4))
        assert (receipt.accepted, receipt.sent, receipt.committed) == (1, 4, 1)
        taken = await space.take_many([URLS], at="g", limit=9)
        assert [each.item.epoch for each in taken] == [2, 3, 4]
        assert await space.ack(taken) == 3
        assert (await space.out_many(UrlBlock, [], to="g", numbered=Numbered("s", 2, 5))).committed == 4
        assert await space.count(SEEDS, at="seeds") == 1
        assert len(await space.take_many([SEEDS], at="seeds", limit=9)) == 1
        assert await space.ticket("term", 7) == 8
        assert {size.size_bytes for size in await space.inbox_sizes() if size.place == "g"} == {0}
    assert set(caplog.messages) == {"space.foreign-key"}


@pytest.mark.parametrize("sender, number", [(b"\xff", "1"), ("s", "0x10"), ("s", "1e3")])
async def test_sender_or_number_of_a_stranger_makes_a_dead_letter(on_redis, sender, number):
    space, payload = await on_redis.open("g"), codec.encode(UrlBlock(1, []))
    await space.out(UrlBlock(2, []), to="g")
    stream = space._keys.inbox("g", UrlBlock).stream
    await space._connection.command("XADD", stream, "*", "p", payload, "s", sender, "n", number)
    await space._connection.command("XADD", space._keys.dead("g"), "*", "anything", "at all")
    taken = await space.take_many([URLS], at="g", limit=9)
    assert [each.item.epoch for each in taken] == [2]
    assert len(await space.dead_letters("g")) == 2
    assert await space.inbox_sizes()


async def test_stream_that_somebody_deleted_is_filled_again_by_its_senders(on_redis):
    space = await on_redis.open("g")
    blocks = [UrlBlock(number, []) for number in (1, 2, 3)]
    await space.out_many(UrlBlock, blocks, to="g", numbered=Numbered("s", 1, 1))
    await space.ack(await space.take_many([URLS], at="g", limit=1))
    await space._connection.command("DEL", space._keys.inbox("g", UrlBlock).stream)
    assert await space.take_many([URLS], at="g", limit=9) == []
    receipt = await space.out_many(UrlBlock, [], to="g", numbered=Numbered("s", 2, 4))
    assert (receipt.sent, receipt.committed) == (1, 1), "so 2 and 3 are due again"


async def test_key_of_another_type_ends_no_wait(on_redis):
    """A watcher and a taker that have waited before somebody took their key away."""
    space = await on_redis.open("g")
    await space.out(Member("old", "r"))
    watch = space.watch(MEMBERS)
    assert (await anext(watch)).gatherer == "old"
    assert await space.take_many([URLS], at="g", limit=9) == []
    for keys in (space._keys.inbox("g", UrlBlock), space._keys.inbox("", Member)):
        await space._connection.command("SET", keys.stream, "mine")
    await space.out(UrlBlock(1, []), to="g")
    await space.out(Member("new", "r"))
    assert len(await space.take_many([URLS], at="g", limit=9, timeout_s=5)) == 1
    assert (await anext(watch)).gatherer == "new"


async def test_fence_whose_tuple_somebody_deleted_does_not_hold(on_redis):
    space = await on_redis.open("g")
    await space.out(Member("g", "r"))
    stream = space._keys.inbox("", Member).stream
    await space._connection.command("XTRIM", stream, "MAXLEN", "0")
    assert (await space.out(Member("h", "r"), given=IfHolds(Member("g", "r")))).refused


async def test_tuple_of_a_later_version_goes_to_the_taker_that_can_read_it(on_redis, newer):
    """Old and new gatherers at one inbox, whoever looks first and however often."""
    old, new = await on_redis.open("old"), await on_redis.open("new")
    newer(Seeds)
    for number in range(30):
        await new.out(Seeds([f"http://{number}/"]), to="seeds")
    newer(Seeds, writes=False, reads=False)
    await new.out(Seeds(["http://plain/"]), to="seeds")
    got = await old.take_many([SEEDS], at="seeds", limit=1)
    for _ in range(40):
        got += await old.take_many([SEEDS], at="seeds", limit=1)
    assert [each.item.urls for each in got] == [["http://plain/"]]
    assert await old.count_unread("seeds") == 30
    newer(Seeds)
    later = await new.take_many([SEEDS], at="seeds", limit=99)
    assert len(later) == 30
    assert {each.deliveries for each in later} == {1}
    assert await new.ack(later) == 30


def test_bytes_that_stand_for_gigabytes_are_refused(monkeypatch):
    monkeypatch.setattr(codec, "MOST_BYTES", 10_000)
    item = UrlBlock(1, [Link("http://a/" + "a" * 20_000)])
    with pytest.raises(codec.CodecError, match="holds too much"):
        codec.decode(codec.encode(item))
