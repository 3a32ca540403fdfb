"""The list of tuples: what holds for every type."""

import pytest

from gcs.core.messages.tuples import BY_NAME, TUPLES, Consumed, Member, PlanPosted, Posted, RobotsNote


def test_tuples_have_names_and_codes_of_their_own():
    assert len(BY_NAME) == len(TUPLES)
    assert len({kind.code for kind in TUPLES}) == len(TUPLES)
    assert all(0 < kind.code < 256 and 0 < kind.version < 128 for kind in TUPLES)
    assert all(kind.name.isalpha() and kind.name not in ("dead", "tickets") for kind in TUPLES)


def test_tuples_list_holds_every_type():
    assert set(TUPLES) == {*Consumed.__subclasses__(), *Posted.__subclasses__()}


@pytest.mark.parametrize("kind", TUPLES, ids=lambda kind: kind.name)
def test_tuples_say_who_writes_and_takes_them_and_how_long_they_live(kind):
    for line in ("written by: ", "taken by: ", "lifetime: "):
        assert line in kind.__doc__


def test_tuples_posted_are_replaced_by_their_key():
    assert Member("g1", "run").key == "g1"
    assert RobotsNote("https://a.org", 200).key == "https://a.org"
    assert PlanPosted(1, 1, b"").key == PlanPosted(2, 1, b"").key == ""


def test_tuples_cannot_be_changed():
    with pytest.raises(AttributeError):
        Member("g1", "run").gatherer = "g2"
