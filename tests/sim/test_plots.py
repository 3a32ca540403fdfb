"""Pictures of charts as they come: values of any spread, zeros, lines without points."""

import re

import pytest

from gcs.sim.plots import draw
from gcs.sim.studies import Chart, ChartLine


def picture(*ys, log_y=True):
    chart = Chart("t", "x", "y", [ChartLine("a", [1, 2, 4], ys), ChartLine("nothing", [], [])], log_x=True, log_y=log_y)
    return draw([chart, Chart("bare", "x", "y", [ChartLine("nothing", [], [])])], "name", ["svg", "png"])


@pytest.mark.parametrize("ys", [(1, 2, 3), (4, 9, 60), (0.01, 3, 9000), (0, 0.1, 200), (0, 0, 0), (5, 5, 5)])
def test_every_axis_has_marks_to_read(ys):
    drawn = picture(*ys)
    assert drawn["name.png"].startswith(b"\x89PNG")
    svg = drawn["name.svg"].decode()
    marks = re.findall(r'id="ytick_\d+"', svg)
    assert len(marks) >= 3 or ys == (0, 0, 0)
    assert ">nothing<" not in svg and ">bare<" not in svg


def test_nothing_is_drawn_of_nothing():
    assert draw([Chart("bare", "x", "y", [ChartLine("nothing", [], [])])], "name", ["svg"]) == {}


def test_the_same_rows_make_the_same_picture():
    assert picture(1, 2, 3) == picture(1, 2, 3)
