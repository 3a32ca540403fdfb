"""The outbox against a space that forgets: whatever is added arrives, and nothing is dropped before it is committed."""

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.messages.outbox import Outbox


def test_outbox_ships_keeps_and_drops():
    outbox = Outbox(["a", "b"])
    assert outbox.add("c") == 3
    parcel = outbox.shipment(2)
    assert (parcel.base, parcel.first, parcel.blocks) == (1, 1, ("a", "b"))
    assert outbox.settle(sent=2, committed=0) == []
    assert (outbox.due, len(outbox), outbox.last) == (1, 3, 3)
    assert outbox.shipment(9).blocks == ("c",)
    assert outbox.settle(sent=3, committed=2) == ["a", "b"]
    assert outbox.shipment(9).base == 3
    assert outbox.settle(sent=3, committed=3) == ["c"]
    assert (outbox.due, len(outbox), outbox.last, outbox.resent) == (0, 0, 3, 0)


def test_outbox_resends_what_the_space_forgot():
    outbox = Outbox(["a", "b", "c"])
    outbox.settle(sent=3, committed=1)
    outbox.settle(sent=1, committed=1)
    assert outbox.shipment(9).blocks == ("b", "c")
    assert outbox.resent == 2


def test_outbox_does_not_resend_what_was_committed_before_the_space_forgot_it():
    outbox = Outbox(["a", "b", "c"])
    outbox.settle(sent=3, committed=2)
    outbox.settle(sent=0, committed=0)
    parcel = outbox.shipment(9)
    assert (parcel.base, parcel.first, parcel.blocks) == (3, 3, ("c",))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 3)),
        st.tuples(st.just("ship"), st.integers(0, 4)),
        st.tuples(st.just("commit"), st.integers(1, 4)),
        st.tuples(st.just("forget"), st.integers(1, 5)),
    ),
    max_size=60,
)


@given(steps)
def test_outbox_loses_nothing_to_a_space_that_forgets(steps):
    """The space is a log of its own states; a crash puts it back to an earlier one."""
    outbox: Outbox[int] = Outbox()
    log = [(0, 0)]  # (sent, committed) after each change
    received: set[int] = set()
    added = 0

    def put(limit: int) -> None:
        parcel = outbox.shipment(limit)
        sent, committed = log[-1]
        committed = max(committed, parcel.base - 1)
        sent = max(sent, committed)
        for number, block in enumerate(parcel.blocks, parcel.first):
            assert number == block
            sent = number if number == sent + 1 else sent
        log.append((sent, committed))
        for block in outbox.settle(sent, committed):
            assert block in received, "dropped before it was committed"

    for verb, count in steps:
        if verb == "add":
            for _ in range(count):
                added += 1
                assert outbox.add(added) == added
        elif verb == "ship":
            put(count)
        elif verb == "commit":
            sent, committed = log[-1]
            for _ in range(min(count, sent - committed)):
                committed += 1
                received.add(committed)
            log.append((sent, committed))
        else:
            del log[max(1, len(log) - count) :]
    for _ in range(added + 2):
        put(3)
        sent, _ = log[-1]
        received.update(range(1, sent + 1))
        log.append((sent, sent))
    put(0)
    assert received == set(range(1, added + 1))
    assert len(outbox) == 0
