"""Charts drawn with matplotlib, an optional extra: the only place that knows of it."""

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gcs.sim.studies import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: what every picture has: fonts stay text in SVG (small files), and a file is the same for the same rows
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gcs",
    "font.size": 9,
    "font.sans-serif": ["DejaVu Sans", "sans-serif"],
    "axes.grid": True,
    "grid.alpha": 0.3,
}
#: leaves out when and with what an SVG was made
_NOTHING = dict.fromkeys(("Creator", "Date", "Format", "Type"))
#: a tenth of a point is fine enough for a picture
_DIGITS = re.compile(rb"(\d\.\d)\d+")
_WIDTH_INCHES, _HEIGHT_INCHES = 5.2, 3.6
#: points of a line that has marks, at most
_MARKED = 20
#: what lies between two marks on an axis of powers of ten
_DECADE = 10
#: charts side by side, at most
_COLUMNS = 3


def available() -> bool:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def draw(charts: Sequence[Chart], name: str, forms: Sequence[str]) -> dict[str, bytes]:
    """The charts in one picture, in each form: file name → content. Nothing where matplotlib is absent."""
    charts = [chart for chart in charts if any(line.xs for line in chart.lines)]
    if not charts or not available():
        return {}
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        rows = -(-len(charts) // _COLUMNS)
        columns = -(-len(charts) // rows)
        figure = Figure((_WIDTH_INCHES * columns, _HEIGHT_INCHES * rows), layout="constrained")
        for axes, chart in zip(figure.subplots(rows, columns, squeeze=False).flat, charts):
            _chart(axes, chart)
        return {f"{name}.{form}": _saved(figure, form) for form in forms}


def _chart(axes: "Axes", chart: Chart) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator

    shown = [line for line in chart.lines if line.xs]
    for line in shown:
        style: dict[str, Any] = {"linestyle": "--", "marker": "o", "color": "black"} if line.from_paper else {}
        marker = {"marker": "."} if len(line.xs) <= _MARKED else {}  # many marks make large files
        axes.plot(line.xs, line.ys, label=line.label, linewidth=1.2, markersize=4, **{**marker, **style})
    axes.set(title=chart.title, xlabel=chart.x, ylabel=chart.y)
    if all(isinstance(x, int) for line in shown for x in line.xs):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if chart.log_x:
        base = 2 if max(max(line.xs) for line in shown) <= 1024 else 10
        if min(min(line.xs) for line in shown) > 0:
            axes.set_xscale("log", base=base)
        else:  # 0 has its place too
            axes.set_xscale("symlog", base=base, linthresh=1)
        axes.xaxis.set_major_formatter("{x:g}")
    if chart.log_y:
        above = [y for line in chart.lines for y in line.ys if y > 0]
        if len(above) < sum(len(line.ys) for line in chart.lines):
            axes.set_yscale("symlog", linthresh=min(above, default=1))
            axes.set_ylim(bottom=0)
        elif max(above) > _DECADE * min(above):  # closer together, they would leave the axis all but bare
            axes.set_yscale("log")
            if max(above) < _DECADE**2 * min(above):
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.legend(fontsize=7, framealpha=0.5)


def _saved(figure: object, form: str) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format=form, dpi=110, metadata=_NOTHING if form == "svg" else None)  # type: ignore[attr-defined]
    data = file.getvalue()
    return b"\n".join(line.strip() for line in _DIGITS.sub(rb"\1", data).splitlines()) if form == "svg" else data
