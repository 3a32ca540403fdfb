import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.change import STEPS, Change, Past, after, chance, change_of, urgency

HELD = Past("sha1:A", visits=2, changes=1)


@pytest.mark.parametrize(
    ("past", "status", "digest", "failed", "change"),
    [
        (Past(), 200, "sha1:A", False, Change.NEW),
        (Past(), 404, "sha1:X", True, Change.NOTHING),
        (Past(), 301, "sha1:X", False, Change.NOTHING),
        (HELD, 304, "", False, Change.SAME),
        (HELD, 304, "", True, Change.NOTHING),  # nobody had asked for it
        (HELD, 200, "sha1:A", False, Change.SAME),
        (HELD, 200, "sha1:B", False, Change.CHANGED),
        (HELD, 301, "sha1:X", False, Change.CHANGED),
        (HELD, 404, "sha1:X", True, Change.GONE),
        (HELD, 410, "sha1:X", True, Change.GONE),
        (HELD, 500, "sha1:X", True, Change.NOTHING),
        (HELD, 0, "", True, Change.NOTHING),
        (Past("", visits=2, misses=2), 200, "sha1:A", False, Change.NEW),
        (Past("", visits=2, misses=1), 200, "sha1:A", False, Change.CHANGED),
    ],
)
def test_change_is_told_by_status_and_digest(
    past: Past, status: int, digest: str, failed: bool, change: Change
) -> None:
    assert change_of(past, status, digest, failed) is change


def test_a_visit_counts_changes_and_misses() -> None:
    past = Past()
    for change, failed in ((Change.NEW, False), (Change.SAME, False), (Change.CHANGED, False), (Change.GONE, True)):
        past = after(past, change, failed)
    assert (past.visits, past.changes, past.misses) == (4, 2, 1)
    assert after(past, Change.NEW, False).misses == 0


@given(st.integers(1, 100), st.data())
def test_what_changes_more_is_more_urgent(visits: int, data: st.DataObject) -> None:
    changes = data.draw(st.integers(0, visits - 1))
    assert chance(visits, changes) > 0
    assert 0 < urgency(chance(visits, changes)) <= STEPS + 1
    if changes:
        assert urgency(chance(visits, changes)) <= urgency(chance(visits, changes - 1))
    nothing_found = urgency(chance(visits + 1, changes))
    assert nothing_found >= urgency(chance(visits, changes)), "each visit that finds nothing counts"
