"""The contract of the whiteboard: the same on memory, the embedded server, Redis 6.2 and 7, Valkey and a cluster."""

import asyncio
import logging
import time

import pytest

from gcs.core.messages import codec
from gcs.core.messages.template import OneOf, template
from gcs.core.messages.tuples import (
    Control,
    CrawlState,
    LeaderLease,
    Link,
    Member,
    PlanPosted,
    RebalanceCall,
    Seeds,
    UrlBlock,
)
from gcs.errors import UsageError
from gcs.ports.space.port import Flow, IfAbsent, IfHolds, Numbered

URLS, SEEDS = template(UrlBlock), template(Seeds)
#: a lease that ends within the test, and one that does not
SHORT_S, LONG_S = 0.02, 600.0


def block(number: int) -> UrlBlock:
    return UrlBlock(number, [Link(f"http://a/{number}")])


def epochs(taken) -> list[int]:
    return [each.item.epoch for each in taken]


# -- consumed: out, take, ack ------------------------------------------------------------------------------


async def test_take_brings_what_out_put_in_order(backend):
    space = await backend.open("g1")
    for number in range(3):
        assert (await space.out(block(number), to="g1")).accepted == 1
    assert [(await space.take(URLS, at="g1")).item for _ in range(3)] == [block(0), block(1), block(2)]
    assert await space.take(URLS, at="g1") is None


async def test_take_gives_each_tuple_to_one_taker(backend):
    first, second = await backend.open("g1"), await backend.open("g2")
    await first.out_many(UrlBlock, [block(number) for number in range(10)], to="pool")
    mine = await first.take_many([URLS], at="pool", limit=4)
    yours = await second.take_many([URLS], at="pool", limit=99)
    assert (epochs(mine), epochs(yours)) == ([0, 1, 2, 3], [4, 5, 6, 7, 8, 9])


async def test_take_many_takes_types_in_the_order_of_the_templates(backend):
    space = await backend.open("g1")
    await space.out(block(1), to="g1")
    await space.out(Seeds(["http://a/"]), to="g1")
    taken = await space.take_many([SEEDS, URLS], at="g1", limit=9)
    assert [type(each.item) for each in taken] == [Seeds, UrlBlock]
    assert await space.ack(taken) == 2


async def test_take_many_takes_so_many_of_each_type(backend):
    """So that a flood of one type does not keep the others waiting."""
    space = await backend.open("g1")
    await space.out_many(UrlBlock, [block(n) for n in range(10)], to="g1")
    await space.out_many(Seeds, [Seeds([f"http://{n}/"]) for n in range(10)], to="g1")
    for _ in range(2):
        taken = await space.take_many([URLS, SEEDS], at="g1", limit=4)
        assert [type(each.item) for each in taken] == [UrlBlock] * 4 + [Seeds] * 4
    assert len(await space.take_many([URLS, SEEDS], at="g1", limit=9)) == 4
    again = await backend.open("g1")
    taken = [
        *await again.take_many([SEEDS, URLS], at="g1", limit=6),
        *await again.take_many([SEEDS, URLS], at="g1", limit=6),
    ]
    assert [type(each.item) for each in taken] == [Seeds] * 6 + [UrlBlock] * 6 + [Seeds] * 4 + [UrlBlock] * 4
    assert await again.ack(taken + taken) == 20


async def test_ack_of_thousands_at_once(backend):
    space = await backend.open("g1")
    blocks = [block(n) for n in range(1, 2501)]
    await space.out_many(UrlBlock, blocks, to="g1", numbered=Numbered("s", 1, 1))
    taken = await space.take_many([URLS], at="g1", limit=9999)
    assert await space.ack(taken) == 2500
    assert await space.flows(UrlBlock, at="g1") == {"s": Flow(2500, 2500)}


async def test_take_waits_for_a_tuple(backend):
    space, other = await backend.open("g1"), await backend.open("g2")
    waiting = asyncio.create_task(space.take(URLS, at="g1", timeout_s=None))
    await backend.pass_time(0.05)
    assert not waiting.done()
    await other.out(block(7), to="g1")
    assert (await waiting).item == block(7)


async def test_take_comes_back_empty_after_its_time(backend):
    space = await backend.open("g1")
    waiting = asyncio.create_task(space.take(URLS, at="g1", timeout_s=0.05))
    await backend.pass_time(0.06)
    assert await waiting is None


async def test_take_can_be_cancelled_and_taken_again(backend):
    space = await backend.open("g1")
    waiting = asyncio.create_task(space.take(URLS, at="g1", timeout_s=None))
    await backend.pass_time(0.02)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await space.out(block(1), to="g1")
    assert (await space.take(URLS, at="g1", timeout_s=None)).item == block(1)


async def test_ack_removes_and_completes_once(backend):
    space = await backend.open("g1")
    await space.out(block(1), to="g1")
    taken = await space.take(URLS, at="g1")
    assert await space.count(URLS, at="g1") == 1
    assert await space.ack([taken]) == 1
    assert await space.ack([taken]) == 0
    assert await space.count(URLS, at="g1") == 0


async def test_ack_of_some_done_and_some_not_counts_each(backend):
    space = await backend.open("g1")
    await space.out_many(UrlBlock, [block(n) for n in range(4)], to="g1", numbered=Numbered("s", 1, 1))
    taken = await space.take_many([URLS], at="g1", limit=9)
    assert await space.ack(taken[1:2]) == 1
    assert await space.ack(taken) == 3
    assert await space.flows(UrlBlock, at="g1") == {"s": Flow(4, 4)}
    assert [inbox.size_bytes for inbox in await space.inbox_sizes()] == [0]


# -- leases ------------------------------------------------------------------------------------------------


async def test_take_claims_what_a_dead_taker_held(backend):
    dead, alive = await backend.open("g1"), await backend.open("g2")
    await dead.out(block(1), to="pool")
    held = await dead.take(URLS, at="pool")
    assert (held.item, held.deliveries) == (block(1), 1)
    assert await alive.take(URLS, at="pool", lease_s=LONG_S) is None
    await backend.pass_time(2 * SHORT_S)
    claimed = await alive.take(URLS, at="pool", lease_s=SHORT_S)
    assert (claimed.item, claimed.deliveries) == (block(1), 2)
    assert await alive.ack([claimed]) == 1
    assert await dead.ack([held]) == 0


async def test_take_that_waits_claims_what_lapses_meanwhile(backend):
    dead, alive = await backend.open("g1"), await backend.open("g2")
    await dead.out(block(1), to="pool")
    await dead.take(URLS, at="pool")
    waiting = asyncio.create_task(alive.take(URLS, at="pool", timeout_s=None, lease_s=0.2))
    await backend.pass_time(0.3)
    assert (await waiting).item == block(1)


async def test_take_claims_before_it_takes_new_ones(backend):
    dead, alive = await backend.open("g1"), await backend.open("g2")
    await dead.out_many(UrlBlock, [block(n) for n in range(4)], to="pool")
    await dead.take_many([URLS], at="pool", limit=2)
    await backend.pass_time(2 * SHORT_S)
    taken = await alive.take_many([URLS], at="pool", limit=3, lease_s=SHORT_S)
    assert [(each.item.epoch, each.deliveries) for each in taken] == [(0, 2), (1, 2), (2, 1)]


async def test_ack_by_a_late_taker_completes_for_all(backend):
    """The first to finish wins, even if its lease has ended: work done is done."""
    late, other = await backend.open("g1"), await backend.open("g2")
    await late.out(block(1), to="pool")
    held = await late.take(URLS, at="pool")
    await backend.pass_time(2 * SHORT_S)
    claimed = await other.take(URLS, at="pool", lease_s=SHORT_S)
    assert await late.ack([held]) == 1
    assert await other.ack([claimed]) == 0


async def test_renew_keeps_the_lease(backend):
    slow, other = await backend.open("g1"), await backend.open("g2")
    await slow.out_many(UrlBlock, [block(1), block(2)], to="pool")
    first, second = await slow.take_many([URLS], at="pool", limit=2)
    await backend.pass_time(0.5)
    assert await slow.renew([second]) == [second]
    taken = await other.take_many([URLS], at="pool", limit=9, lease_s=0.5)
    assert epochs(taken) == [1]
    assert await slow.renew([first, second]) == [second]
    assert taken[0].deliveries == 2


async def test_release_gives_back_at_once_and_counts_no_delivery(backend):
    leaver, other = await backend.open("g1"), await backend.open("g2", max_deliveries=1)
    await leaver.out_many(UrlBlock, [block(1), block(2)], to="pool")
    taken = await leaver.take_many([URLS], at="pool", limit=2)
    await leaver.release(taken[:1])
    again = await other.take_many([URLS], at="pool", limit=9, lease_s=LONG_S)
    assert [(each.item.epoch, each.deliveries) for each in again] == [(1, 1)]
    await leaver.release(taken[:1])  # not mine any more: nothing happens
    assert await other.renew(again) == again


async def test_take_begins_with_what_an_earlier_run_of_the_same_name_held(backend):
    before = await backend.open("g1")
    await before.out_many(UrlBlock, [block(n) for n in range(5)], to="g1")
    await before.take_many([URLS], at="g1", limit=3)
    after = await backend.open("g1")
    taken = await after.take_many([URLS], at="g1", limit=2, lease_s=LONG_S)
    assert [(each.item.epoch, each.deliveries) for each in taken] == [(0, 2), (1, 2)]
    rest = await after.take_many([URLS], at="g1", limit=9, lease_s=LONG_S)
    rest += await after.take_many([URLS], at="g1", limit=9, lease_s=LONG_S)
    assert epochs(rest) == [2, 3, 4]
    assert await after.take_many([URLS], at="g1", limit=9, lease_s=LONG_S) == []


# -- dead letters and unknown versions ---------------------------------------------------------------------


async def test_tuple_nobody_finishes_becomes_a_dead_letter(backend, caplog):
    space = await backend.open("g1", max_deliveries=3)
    await space.out_many(UrlBlock, [block(1)], to="g1", numbered=Numbered("s", 1, 1))
    for delivery in (1, 2, 3):
        taken = await space.take(URLS, at="g1", lease_s=SHORT_S)
        assert taken.deliveries == delivery
        await backend.pass_time(2 * SHORT_S)
    with caplog.at_level(logging.WARNING, "gcs.space"):
        assert await space.take(URLS, at="g1", lease_s=SHORT_S) is None
    assert "space.dead-letters" in caplog.messages
    (letter,) = await space.dead_letters("g1")
    assert (letter.kind, letter.sender, letter.number, letter.deliveries) == ("urls", "s", 1, 3)
    assert letter.reason == "delivered 3 times"
    assert letter.taker == "g1"
    assert codec.decode(letter.payload) == block(1)
    assert await space.count(URLS, at="g1") == 0
    assert await space.flows(UrlBlock, at="g1") == {"s": Flow(1, 0)}, "its sender keeps it"
    assert await space.remove_dead_letters("g1") == 1
    assert await space.dead_letters("g1") == []


@pytest.fixture
def version_99(monkeypatch):
    """What a later version of GCS writes."""

    def switch(kind, on=True):
        plain = (kind.code, 99 if on else kind.version)
        monkeypatch.setitem(codec._headers, kind, (bytes(plain), bytes(plain)))

    return switch


async def test_consumed_tuple_of_an_unknown_version_is_left_in_its_inbox(backend, version_99, caplog):
    """Its sender does not take it for committed, and it does not stand in the way of others."""
    space = await backend.open("g1", max_deliveries=2)
    version_99(UrlBlock)
    await space.out_many(UrlBlock, [block(1)], to="g1", numbered=Numbered("s", 1, 1))
    version_99(UrlBlock, on=False)
    await space.out(block(2), to="g1")
    with caplog.at_level(logging.WARNING, "gcs.space"):
        assert epochs(await space.take_many([URLS], at="g1", limit=9)) == [2]
        for _ in range(5):
            await backend.pass_time(2 * SHORT_S)
            assert await space.take_many([URLS], at="g1", limit=9, lease_s=LONG_S) == []
    assert caplog.messages == ["space.unreadable"]
    assert await space.dead_letters("g1") == []
    assert await space.count(URLS, at="g1") == 2
    assert await space.count_unread("g1") == 1
    assert await space.count_unread("g2") == 0
    assert await space.flows(UrlBlock, at="g1") == {"s": Flow(1, 0)}


async def test_damaged_tuple_is_set_aside_and_its_sender_keeps_it(backend, monkeypatch, caplog):
    space = await backend.open("g1")
    right = (UrlBlock.code, UrlBlock.version)
    monkeypatch.setitem(codec._headers, UrlBlock, (bytes(right) + b"\xc1", bytes(right)))
    await space.out_many(UrlBlock, [block(1)], to="g1", numbered=Numbered("s", 1, 1))
    with caplog.at_level(logging.WARNING, "gcs.space"):
        assert await space.take_many([URLS], at="g1", limit=9) == []
    assert any(message.startswith(("space.set-aside", "space.dead-letters")) for message in caplog.messages)
    (letter,) = await space.dead_letters("g1")
    assert "damaged urls tuple" in letter.reason
    assert (letter.sender, letter.number) == ("s", 1)
    assert await space.count(URLS, at="g1") == 0
    assert await space.flows(UrlBlock, at="g1") == {"s": Flow(1, 0)}


async def test_posted_tuple_of_an_unknown_version_is_reported_and_stays(backend, version_99, caplog):
    space = await backend.open("g1")
    version_99(Member)
    await space.out(Member("new", "r"))
    version_99(Member, on=False)
    await space.out(Member("old", "r"))
    with caplog.at_level(logging.WARNING, "gcs.space"):
        assert [member.gatherer for member in await space.scan(template(Member))] == ["old"]
    assert "space.unreadable" in caplog.messages
    assert await space.count(template(Member)) == 2


# -- bounds and numbers ------------------------------------------------------------------------------------


async def test_out_to_a_full_inbox_says_so_and_drops_nothing(backend):
    size = backend.size(block(1))
    space = await backend.open("g1", inbox_bytes=3 * size)
    receipt = await space.out_many(UrlBlock, [block(n) for n in range(1, 6)], to="g1")
    assert (receipt.accepted, receipt.full) == (3, True)
    assert await space.out(Seeds(["http://a/"]), to="g1"), "other types have their own room"
    taken = await space.take_many([URLS], at="g1", limit=9)
    assert epochs(taken) == [1, 2, 3]
    assert (await space.out(block(4), to="g1")).full, "room is made by ack, not by take"
    await space.ack(taken[:1])
    receipt = await space.out_many(UrlBlock, [block(4), block(5)], to="g1")
    assert (receipt.accepted, receipt.full) == (1, True)
    await space.ack(taken[1:])
    assert not (await space.out(block(5), to="g1")).full
    assert epochs(await space.take_many([URLS], at="g1", limit=9)) == [4, 5]


async def test_out_to_an_empty_inbox_takes_one_tuple_of_any_size(backend):
    space = await backend.open("g1", inbox_bytes=10)
    assert (await space.out(block(1), to="g1")).accepted == 1
    assert (await space.out(block(2), to="g1")).full


async def test_inbox_bytes_are_exact(backend):
    space = await backend.open("g1")
    blocks = [UrlBlock(n, [Link("http://a/" + "x" * n)]) for n in range(1, 9)]
    await space.out_many(UrlBlock, blocks, to="g1")
    taken = await space.take_many([URLS], at="g1", limit=3)
    await space.ack(taken)
    await space.ack(taken)
    (inbox,) = await space.inbox_sizes()
    assert (inbox.place, inbox.kind, inbox.tuples, inbox.held) == ("g1", "urls", 5, 0)
    assert inbox.size_bytes == sum(backend.size(each) for each in blocks[3:])


async def test_numbered_out_puts_each_number_once(backend):
    space = await backend.open("g1")
    blocks = [block(n) for n in range(1, 5)]
    first = await space.out_many(UrlBlock, blocks[:3], to="g1", numbered=Numbered("s", 1, 1))
    assert (first.accepted, first.sent, first.committed) == (3, 3, 0)
    again = await space.out_many(UrlBlock, blocks, to="g1", numbered=Numbered("s", 1, 1))
    assert (again.accepted, again.sent, again.committed) == (4, 4, 0)
    taken = await space.take_many([URLS], at="g1", limit=9)
    assert [(each.sender, each.number) for each in taken] == [("s", 1), ("s", 2), ("s", 3), ("s", 4)]


async def test_numbered_out_does_not_leave_a_gap(backend):
    space = await backend.open("g1")
    await space.out_many(UrlBlock, [block(1)], to="g1", numbered=Numbered("s", 1, 1))
    receipt = await space.out_many(UrlBlock, [block(3), block(4)], to="g1", numbered=Numbered("s", 1, 3))
    assert (receipt.accepted, receipt.full, receipt.sent) == (0, False, 1)
    assert await space.count(URLS, at="g1") == 1


async def test_numbered_out_goes_on_after_a_full_inbox(backend):
    space = await backend.open("g1", inbox_bytes=2 * backend.size(block(1)))
    blocks = [block(n) for n in range(1, 4)]
    receipt = await space.out_many(UrlBlock, blocks, to="g1", numbered=Numbered("s", 1, 1))
    assert (receipt.accepted, receipt.full, receipt.sent) == (2, True, 2)
    await space.ack(await space.take_many([URLS], at="g1", limit=9))
    receipt = await space.out_many(UrlBlock, blocks[2:], to="g1", numbered=Numbered("s", 1, 3))
    assert (receipt.accepted, receipt.full, receipt.sent, receipt.committed) == (1, False, 3, 2)


async def test_commits_are_counted_without_gaps_in_any_order(backend):
    space = await backend.open("g1")
    await space.out_many(UrlBlock, [block(n) for n in range(1, 6)], to="g1", numbered=Numbered("s", 1, 1))
    one, two, three, four, five = await space.take_many([URLS], at="g1", limit=9)
    for done, committed in (([three], 0), ([five, two], 0), ([one], 3), ([four], 5)):
        await space.ack(done)
        assert await space.flows(UrlBlock, at="g1") == {"s": Flow(5, committed)}
    receipt = await space.out_many(UrlBlock, [], to="g1", numbered=Numbered("s", 1, 6))
    assert (receipt.accepted, receipt.sent, receipt.committed) == (0, 5, 5)


async def test_flows_are_counted_for_each_sender_and_type(backend):
    space = await backend.open("g1")
    await space.out_many(UrlBlock, [block(1)], to="g1", numbered=Numbered("a", 1, 1))
    await space.out_many(UrlBlock, [block(1), block(2)], to="g1", numbered=Numbered("b", 1, 1))
    await space.out_many(Seeds, [Seeds(["http://a/"])], to="g1", numbered=Numbered("a", 1, 1))
    await space.ack(await space.take_many([URLS], at="g1", limit=2))
    assert await space.flows(UrlBlock, at="g1") == {"a": Flow(1, 1), "b": Flow(2, 1)}
    assert await space.flows(Seeds, at="g1") == {"a": Flow(1, 0)}
    assert await space.flows(UrlBlock, at="g2") == {}


async def test_numbered_out_tells_a_forgetful_space_what_is_committed(backend):
    """A sender that knows of commits up to 7 meets a space that knows nothing: it goes on with 8."""
    space = await backend.open("g1")
    receipt = await space.out_many(UrlBlock, [block(8), block(9)], to="g1", numbered=Numbered("s", 8, 8))
    assert (receipt.accepted, receipt.sent, receipt.committed) == (2, 9, 7)
    await space.ack(await space.take_many([URLS], at="g1", limit=9))
    assert await space.flows(UrlBlock, at="g1") == {"s": Flow(9, 9)}


async def test_forgetful_space_counts_what_was_committed_ahead(backend):
    space = await backend.open("g1")
    await space.out_many(UrlBlock, [block(n) for n in range(1, 5)], to="g1", numbered=Numbered("s", 1, 1))
    taken = await space.take_many([URLS], at="g1", limit=9)
    await space.ack(taken[1:3])
    receipt = await space.out_many(UrlBlock, [], to="g1", numbered=Numbered("s", 2, 5))
    assert (receipt.sent, receipt.committed) == (4, 3)
    await space.ack(taken)
    assert await space.flows(UrlBlock, at="g1") == {"s": Flow(4, 4)}


# -- posted: board, conditions, expiry ---------------------------------------------------------------------


async def test_posted_tuple_replaces_the_one_with_its_key(backend):
    space, other = await backend.open("g1"), await backend.open("g2")
    await space.out(Member("g1", "r", epoch=1))
    await space.out(Member("g2", "r", epoch=1))
    await space.out(Member("g1", "r", epoch=2))
    assert [(m.gatherer, m.epoch) for m in await other.scan(template(Member))] == [("g2", 1), ("g1", 2)]
    (inbox,) = await space.inbox_sizes()
    assert inbox.size_bytes == backend.size(Member("g2", "r", epoch=1)) * 2


async def test_read_scan_and_count_fit_the_template(backend):
    space = await backend.open("g1")
    for number in range(4):
        await space.out(Member(f"g{number}", "r", epoch=number % 2))
    assert (await space.read(template(Member, gatherer="g2"))).gatherer == "g2"
    assert await space.read(template(Member, gatherer="g9")) is None
    odd = template(Member, epoch=1)
    assert [member.gatherer for member in await space.scan(odd)] == ["g1", "g3"]
    assert await space.count(odd) == 2
    assert await space.count(template(Member, gatherer=OneOf("g0", "g9"))) == 1
    assert await space.count(template(Member)) == 4


async def test_read_waits_and_takes_nothing_away(backend):
    space, other = await backend.open("g1"), await backend.open("g2")
    waiting = asyncio.create_task(space.read(template(PlanPosted, epoch=2), timeout_s=None))
    await other.out(PlanPosted(1, 1, b"one"))
    await backend.pass_time(0.02)
    assert not waiting.done()
    await other.out(PlanPosted(2, 1, b"two"))
    assert (await waiting).plan == b"two"
    assert await space.read(template(PlanPosted)) == PlanPosted(2, 1, b"two")


async def test_read_comes_back_empty_after_its_time(backend):
    space = await backend.open("g1")
    waiting = asyncio.create_task(space.read(template(PlanPosted), timeout_s=0.03))
    await backend.pass_time(0.04)
    assert await waiting is None


async def test_read_scan_and_count_see_inboxes_too(backend):
    space = await backend.open("g1")
    await space.out_many(UrlBlock, [block(n) for n in range(1200)], to="g1")
    await space.take_many([URLS], at="g1", limit=2)
    assert await space.read(URLS, at="g1") == block(0)
    assert await space.read(template(UrlBlock, epoch=1100), at="g1") == block(1100)
    assert len(await space.scan(URLS, at="g1")) == await space.count(URLS, at="g1") == 1200


async def test_posted_tuple_expires(backend):
    space = await backend.open("g1")
    await space.out(Member("g1", "r"), ttl_s=0.05)
    await space.out(Member("g2", "r"), ttl_s=LONG_S)
    await backend.pass_time(0.1)
    assert await space.count(template(Member)) == 1
    assert [member.gatherer for member in await space.scan(template(Member))] == ["g2"]


async def test_posted_tuple_lives_on_when_it_is_posted_again(backend):
    space = await backend.open("g1")
    await space.out(Member("g1", "r"), ttl_s=0.05)
    await space.out(Member("g1", "r"), ttl_s=LONG_S)
    await backend.pass_time(0.1)
    assert await space.count(template(Member)) == 1


async def test_consumed_tuple_expires_untaken_and_taken(backend):
    space = await backend.open("g1")
    await space.out_many(UrlBlock, [block(1), block(2)], to="g1", numbered=Numbered("s", 1, 1), ttl_s=0.4)
    await space.out(block(3), to="g1", ttl_s=LONG_S)
    await space.out(block(4), to="g1")
    held = await space.take(URLS, at="g1")
    assert held.item == block(1)
    await backend.pass_time(0.5)
    assert epochs(await space.take_many([URLS], at="g1", limit=9)) == [3, 4]
    assert await space.ack([held]) == 0
    assert await space.renew([held]) == []
    assert await space.flows(UrlBlock, at="g1") == {"s": Flow(2, 2)}
    assert sum(inbox.size_bytes for inbox in await space.inbox_sizes()) == backend.size(block(3)) * 2


async def test_take_that_waits_gets_a_tuple_that_can_expire(backend):
    space = await backend.open("g1")
    waiting = asyncio.create_task(space.take(URLS, at="g1", timeout_s=None))
    await backend.pass_time(0.02)
    await space.out(block(1), to="g1", ttl_s=LONG_S)
    assert (await waiting).item == block(1)


async def test_out_if_absent(backend):
    space, other = await backend.open("g1"), await backend.open("g2")
    assert not (await space.out(LeaderLease("g1", 1), ttl_s=LONG_S, given=IfAbsent())).refused
    assert (await other.out(LeaderLease("g2", 2), ttl_s=LONG_S, given=IfAbsent())).refused
    await space.out(LeaderLease("g1", 1), ttl_s=0.01)
    await backend.pass_time(0.05)
    assert not (await other.out(LeaderLease("g2", 2), ttl_s=LONG_S, given=IfAbsent())).refused
    assert await space.read(template(LeaderLease)) == LeaderLease("g2", 2)


async def test_out_is_fenced_by_a_tuple_that_must_be_there(backend):
    space = await backend.open("g1")
    old, new = LeaderLease("g1", 1), LeaderLease("g2", 2)
    assert (await space.out(PlanPosted(1, 1, b""), given=IfHolds(old))).refused
    await space.out(old)
    assert (await space.out(PlanPosted(1, 1, b""), given=IfHolds(old))).accepted == 1
    await space.out(new)
    assert (await space.out(PlanPosted(2, 1, b""), given=IfHolds(old))).refused
    assert (await space.read(template(PlanPosted))).epoch == 1


async def test_out_is_refused_once_its_fence_has_expired(backend):
    space = await backend.open("g1")
    leader = LeaderLease("g1", 1)
    await space.out(leader, ttl_s=0.03)
    await backend.pass_time(0.06)
    assert (await space.out(PlanPosted(1, 1, b""), given=IfHolds(leader))).refused
    assert (await space.out(leader, ttl_s=1.0, given=IfHolds(leader))).refused, "nor can it be renewed"


async def test_take_from_the_board_removes_what_fits(backend):
    space = await backend.open("g1")
    await space.out(Member("g1", "r"))
    await space.out(Member("g2", "r"))
    taken = await space.take(template(Member, gatherer="g2"))
    assert taken.item == Member("g2", "r")
    assert await space.ack([taken]) == 0
    assert await space.take(template(Member, gatherer="g2")) is None
    assert [member.gatherer for member in await space.scan(template(Member))] == ["g1"]


async def test_take_from_the_board_gives_it_to_one(backend):
    spaces = [await backend.open(f"g{n}") for n in range(4)]
    await spaces[0].out(Control(CrawlState.PAUSED))
    taken = await asyncio.gather(*(space.take(template(Control)) for space in spaces))
    assert sum(each is not None for each in taken) == 1


# -- templates on inboxes ----------------------------------------------------------------------------------


async def test_take_with_patterns_leaves_the_rest_to_others(backend):
    picky, other = await backend.open("g1"), await backend.open("g2")
    await picky.out_many(UrlBlock, [block(n) for n in range(6)], to="pool")
    wanted = template(UrlBlock, epoch=OneOf(2, 4, 5))
    assert (await picky.take(wanted, at="pool")).item == block(2)
    assert epochs(await picky.take_many([wanted], at="pool", limit=9)) == [4, 5]
    assert await picky.take(wanted, at="pool") is None
    taken = await other.take_many([URLS], at="pool", limit=9, lease_s=LONG_S)
    assert [(each.item.epoch, each.deliveries) for each in taken] == [(0, 1), (1, 1), (3, 1)]


async def test_take_with_patterns_waits_past_what_does_not_fit(backend):
    space = await backend.open("g1")
    waiting = asyncio.create_task(space.take(template(UrlBlock, epoch=2), at="g1", timeout_s=None))
    await backend.pass_time(0.02)
    await space.out(block(1), to="g1")
    await backend.pass_time(0.02)
    assert not waiting.done()
    await space.out(block(2), to="g1")
    assert (await waiting).item == block(2)


# -- watch -------------------------------------------------------------------------------------------------


async def test_watch_tells_of_what_is_there_and_of_what_comes(backend):
    space, other = await backend.open("g1"), await backend.open("g2")
    await other.out(Member("a", "r"))
    told: list[str] = []
    enough = asyncio.Event()

    async def listen():
        async for member in space.watch(template(Member, run="r")):
            told.append(member.gatherer)
            if len(told) == 3:
                enough.set()

    listener = asyncio.create_task(listen())
    await backend.pass_time(0.02)
    await other.out(Member("x", "another run"))
    await other.out(Member("b", "r"))
    await backend.pass_time(0.02)
    await other.out(Member("a", "r", epoch=2))
    await asyncio.wait_for(enough.wait(), 30)
    listener.cancel()
    assert told == ["a", "b", "a"]


async def test_watch_of_an_inbox_takes_nothing_away(backend):
    space = await backend.open("g1")
    watching = space.watch(SEEDS, at="seeds")
    await space.out(Seeds(["http://a/"]), to="seeds")
    assert await anext(watching) == Seeds(["http://a/"])
    await watching.aclose()
    assert (await space.take(SEEDS, at="seeds")).item == Seeds(["http://a/"])


# -- the rest ----------------------------------------------------------------------------------------------


async def test_space_tells_the_time(backend):
    space = await backend.open("g0")
    before = time.time()
    there = await space.time()
    assert before - 1 <= there <= time.time() + 1


async def test_tickets_are_given_once_and_above_the_floor(backend):
    spaces = [await backend.open(f"g{n}") for n in range(3)]
    given = await asyncio.gather(*(space.ticket("term") for space in spaces for _ in range(5)))
    assert sorted(given) == list(range(1, 16))
    assert await spaces[0].ticket("term", floor=40) == 41
    assert await spaces[0].ticket("term", floor=7) == 42
    assert await spaces[0].ticket("other") == 1


async def test_remove_takes_away_held_or_not_and_commits(backend):
    space = await backend.open("g1")
    await space.out_many(UrlBlock, [block(n) for n in range(1, 5)], to="g1", numbered=Numbered("s", 1, 1))
    held = await space.take(URLS, at="g1")
    assert await space.remove(template(UrlBlock, epoch=OneOf(1, 2, 3)), at="g1") == 3
    assert await space.ack([held]) == 0
    assert epochs(await space.take_many([URLS], at="g1", limit=9, lease_s=SHORT_S)) == [4]
    assert await space.flows(UrlBlock, at="g1") == {"s": Flow(4, 3)}
    await space.out(Member("g1", "r"))
    assert await space.remove(template(Member)) == 1
    assert await space.count(template(Member)) == 0


async def test_inbox_sizes_list_what_there_is(backend):
    space = await backend.open("g1")
    await space.out(Member("g1", "r"))
    await space.out(block(1), to="g1")
    await space.take(URLS, at="g1")
    sizes = {(inbox.place, inbox.kind): (inbox.tuples, inbox.held) for inbox in await space.inbox_sizes()}
    assert sizes == {("", "member"): (1, 0), ("g1", "urls"): (1, 1)}


@pytest.mark.parametrize("name", ["", "a b", "a{b}", "a:b", "x" * 129])
async def test_names_that_cannot_stand_in_a_key_are_refused(backend, name):
    with pytest.raises(UsageError):
        await backend.open(name)
    space = await backend.open("g1")
    if name:
        with pytest.raises(UsageError, match="inbox name"):
            await space.out(block(1), to=name)


async def test_places_of_the_wrong_kind_are_refused(backend):
    space = await backend.open("g1")
    with pytest.raises(UsageError, match="urls tuples are in an inbox"):
        await space.out(block(1))
    with pytest.raises(UsageError, match="member tuples are on the board"):
        await space.out(Member("g1", "r"), to="g1")
    with pytest.raises(UsageError, match="conditions are for the board"):
        await space.out(RebalanceCall("me"), to="leader", given=IfAbsent())
    with pytest.raises(UsageError, match="in an inbox"):
        await space.take(URLS)
    with pytest.raises(UsageError, match="on the board"):
        await space.read(template(Member), at="g1")
