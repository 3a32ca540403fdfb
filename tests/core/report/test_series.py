"""A series stays small, and tells the truth however long the crawl is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.report.series import Series, SeriesCounts, SeriesPoint


@given(st.lists(st.tuples(st.floats(0.5, 3), st.integers(0, 50)), min_size=1, max_size=400), st.integers(4, 20))
def test_series_is_bounded_and_ends_with_the_last(steps, capacity):
    series, at, pages = Series(capacity), 0.0, 0
    for seconds, more in steps:
        at, pages = at + seconds, pages + more
        last = series.add(SeriesPoint(at, pages=pages), SeriesCounts(at, pages, pages * 10))
        points = series.points()
        assert len(points) <= capacity and points[-1].at == last.at == at
        assert [point.at for point in points] == sorted({point.at for point in points})
        assert all(point.pages_per_s >= 0 for point in points)


def test_series_rates_are_means_over_their_spans():
    series = Series(4)
    for second in range(9):
        series.add(SeriesPoint(float(second), pages=second * 6), SeriesCounts(float(second), second * 6, second * 600))
    points = series.points()
    assert series.step_s > 1
    assert [point.pages_per_s for point in points[1:]] == [6.0] * (len(points) - 1)
    assert points[-1].bytes_per_s == 600.0


def test_series_goes_on_when_a_crawl_counts_from_nothing_again():
    series = Series()
    series.add(SeriesPoint(0), SeriesCounts(0, 100, 100))
    series.add(SeriesPoint(1), SeriesCounts(1, 3, 3))
    assert series.add(SeriesPoint(2), SeriesCounts(2, 5, 5)).pages_per_s == 2.0


def test_series_needs_room():
    with pytest.raises(ValueError, match="four"):
        Series(3)
