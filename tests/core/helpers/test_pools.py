"""How much a gatherer lends: its part of what the helpers of its place can hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.helpers.pools import HelperSettings, pool, share
from gcs.core.messages.tuples import HelperBeat, Means
from gcs.errors import SettingsError

beats = st.lists(
    st.builds(
        HelperBeat,
        st.uuids().map(str),
        st.sampled_from(["", "almaden", "watson"]),
        st.sampled_from(list(Means)),
        st.integers(0, 16),
    ),
    max_size=8,
)


def test_share_counts_the_helpers_of_the_place_and_kind():
    there = [
        HelperBeat("a", "watson", Means.PLAIN, 4),
        HelperBeat("b", "watson", Means.PLAIN, 2),
        HelperBeat("c", "almaden", Means.PLAIN, 8),
        HelperBeat("d", "watson", Means.BROWSER, 1),
    ]
    assert share(there, "watson", Means.PLAIN, 1, ahead=1.0) == 12
    assert share(there, "watson", Means.PLAIN, 1, ahead=0.0) == 6
    assert share(there, "watson", Means.PLAIN, 4, ahead=0.0) == 2
    assert share(there, "watson", Means.BROWSER, 3, ahead=0.0) == 1
    assert share(there, "", Means.PLAIN, 1, ahead=1.0) == 0


@given(beats, st.integers(0, 9), st.floats(0.0, 3.0))
def test_share_of_all_lenders_is_all_there_is_and_little_more(there, lenders, ahead):
    for place in ("", "watson"):
        able = sum(beat.connections for beat in there if (beat.place, beat.means) == (place, Means.PLAIN))
        each = share(there, place, Means.PLAIN, lenders, ahead)
        assert able * (1 + ahead) - 1e-6 <= each * max(lenders, 1) <= able * (1 + ahead) + max(lenders, 1)


def test_pools_are_apart_by_place_and_means():
    assert len({pool(place, means) for place in ("", "watson", "almaden") for means in Means}) == 6


@pytest.mark.parametrize("settings", [{"lease_s": 0.0}, {"offer_s": 0.0}, {"browser": ("(",)}])
def test_settings_that_cannot_work_are_told(settings):
    with pytest.raises(SettingsError, match="helpers"):
        HelperSettings(**settings)
