"""The truth table of matching, line by line, and templates that cannot be made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.messages.template import ANY, OneOf, template
from gcs.core.messages.tuples import LeaderLease, Seeds, StatisticsReply
from gcs.errors import UsageError

LEADER = LeaderLease("g1", 7)


@pytest.mark.parametrize(
    ("patterns", "matches"),
    [
        ({}, True),
        ({"term": ANY}, True),
        ({"term": 7}, True),
        ({"term": 8}, False),
        ({"term": OneOf(6, 7)}, True),
        ({"term": OneOf(5, 6)}, False),
        ({"term": OneOf()}, False),
        ({"gatherer": "g1", "term": 7}, True),
        ({"gatherer": "g1", "term": 8}, False),
        ({"gatherer": OneOf("g1", "g2"), "term": ANY}, True),
        ({"gatherer": ANY, "term": OneOf(1)}, False),
    ],
)
def test_template_truth_table_of_fields(patterns, matches):
    assert template(LeaderLease, **patterns).matches(LEADER) is matches


def test_template_truth_table_of_types():
    class Deputy(LeaderLease):
        pass

    assert template(LeaderLease).matches(LEADER)
    assert not template(Seeds).matches(LEADER)
    assert not template(LeaderLease).matches(Deputy("g1", 7))


def test_template_with_an_unknown_field_names_the_known_ones():
    with pytest.raises(UsageError, match="no field 'trem'; it has gatherer, term"):
        template(LeaderLease, trem=7)


def test_template_leaves_any_out_so_that_it_counts_as_plain():
    assert template(LeaderLease, gatherer=ANY, term=ANY) == template(LeaderLease)


@given(st.text(), st.integers(), st.lists(st.integers()))
def test_template_one_of_is_any_of_the_equalities(gatherer, number, wanted):
    item = StatisticsReply(gatherer, number, 0)
    equal = [template(StatisticsReply, round=want).matches(item) for want in wanted]
    assert template(StatisticsReply, round=OneOf(*wanted)).matches(item) is any(equal)
