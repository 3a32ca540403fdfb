"""Notes of plans: what moved, by pairs, named by the nodes that hold it."""

from gcs.core.plan.next_plan import note_of
from gcs.core.plan.plan import Move, Plan
from gcs.core.url.sortkey import sort_key, subtree


def test_note_tells_what_moves_between_whom():
    a, b = subtree(sort_key("http://a.org/x")), subtree(b"org\x00b")
    assert note_of(Plan(2, ("g",), (b"",), (0,), moves=(Move(b"", b"org", "g", "h"),)), at=0, reason="", moved=0).moves[
        0
    ].places == ["the beginning to org"]
    moves = (Move(*a, "g0", "g1"), Move(*b, "g0", "g1"), Move(b"org\x00c", b"org\x00d\x01", "g1", "g0"))
    plan = Plan(7, ("g0", "g1"), (b"",), (0,), moves=moves, lost=((b"x", b"y"),))
    note = note_of(plan, at=5.0, reason="idle", moved=0.123456)
    assert (note.epoch, note.at, note.reason, note.moved, note.lost, note.superpages) == (7, 5.0, "idle", 0.1235, 1, 1)
    assert [(each.loser, each.winner, each.ranges, each.places) for each in note.moves] == [
        ("g0", "g1", 2, ["a.org/x", "b.org"]),
        ("g1", "g0", 1, ["c.org to d.org"]),
    ]
    assert note.key == "7" and not note.committed_at
