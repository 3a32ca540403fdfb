"""The results of a study: a table (CSV), pictures (PNG and SVG), and a text with the paper's figures and ours.

Results are kept under the hash of the graph, of the request and of the code that made them, so that a page can be
written again at once and never from the rows of an older program. A study of several steps goes on where it was
interrupted.
"""

import ast
import csv
import io
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import xxhash

from gcs.app.crawl_dir import write_whole
from gcs.sim.graph.graph_files import load
from gcs.sim.graph.owners import sites_of
from gcs.sim.graph.synthetic import synthetic
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.plots import draw
from gcs.sim.studies import Row, Study, StudyRequest, Tick
from gcs.sim.studies.study import ClaimVerdict, Finding

_ADVICE = "choose another -o DIR or --cache DIR"


@dataclass(frozen=True, slots=True)
class ResultCache:
    """The folder in which results are kept, and whether kept ones are to be made anew."""

    folder: Path
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of a study on a graph, and how long they took when they were made."""

    study: Study
    graph: WebGraph
    rows: Sequence[Row]
    seconds: float

    def json(self) -> dict[str, Any]:
        return {
            "study": self.study.name,
            "graph": self.graph.name,
            "rows": msgspec.to_builtins(self.rows),
            "paper": [_given(row) for row in self.study.paper],
            "findings": msgspec.to_builtins(self.study.findings(self.rows)),
            "advice": self.study.advice(self.rows),
            "seconds": round(self.seconds, 3),
        }


def result(study: Study, graph: WebGraph, request: StudyRequest, tick: Tick, cache: ResultCache) -> Result:
    """Run a study, or those of its steps that are not remembered."""
    ks = study.steps.ks(graph, request) if study.steps else ()
    steps = [replace(request, ks=(k,)) for k in ks] or [request]
    files = {step: cache.folder / f"{study.name}-{_key(study, graph, step)}.json" for step in steps}
    done = {} if cache.fresh or not graph.digest else _remembered(study, files)
    missing = [step for step in steps if step not in done]
    if missing:
        started = time.perf_counter()
        rest = replace(request, ks=tuple(k for step in missing for k in step.ks))
        made = study.steps.run(graph, rest, tick) if study.steps else iter([study.run(graph, rest, tick)])
        for step, rows in zip(missing, made):
            now = time.perf_counter()
            done[step], started = (now - started, rows), now
            if graph.digest:
                write_whole(files[step], msgspec.json.encode(done[step]), _ADVICE)
    return Result(study, graph, [row for step in steps for row in done[step][1]], sum(done[step][0] for step in steps))


def _remembered(study: Study, files: dict[StudyRequest, Path]) -> dict[StudyRequest, tuple[float, Sequence[Row]]]:
    found: dict[StudyRequest, tuple[float, Sequence[Row]]] = {}
    for step, file in files.items():
        with suppress(OSError, msgspec.MsgspecError):  # what is not there, or damaged, is made again
            seconds, rows = msgspec.json.decode(file.read_bytes(), type=tuple[float, list[dict[str, Any]]])
            found[step] = seconds, msgspec.convert(rows, list[study.row])  # type: ignore[name-defined]
    return found


def _key(study: Study, graph: WebGraph, request: StudyRequest) -> str:
    code = _code(study.run.__module__)
    return xxhash.xxh3_128_hexdigest(msgspec.json.encode([study.name, graph.digest, request, code]))


@cache
def _code(module: str) -> str:
    """Hash of the code that decides what comes out."""
    return xxhash.xxh3_128_hexdigest(msgspec.msgpack.encode(sorted(sources(module).items())))


def sources(module: str) -> dict[str, bytes]:
    """A module, what makes graphs, and all of ours that they import, near and far: name → source."""
    found: dict[str, bytes] = {}
    todo = [module, load.__module__, synthetic.__module__]
    while todo:
        name = todo.pop()
        if name.startswith("gcs.") and name not in found and name in sys.modules:
            found[name] = Path(sys.modules[name].__file__ or "").read_bytes()
            for node in ast.walk(ast.parse(found[name])):
                if isinstance(node, ast.ImportFrom) and node.module:
                    todo += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


def table(rows: Sequence[Row]) -> str:
    """The rows as CSV with a header."""
    if not rows:
        return ""
    text = io.StringIO()
    names = [field.name for field in fields(rows[0])]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_shown(getattr(row, name)) for name in names] for row in rows)
    return text.getvalue()


def write(done: Result, folder: Path, pictures: Sequence[str] = ("png", "svg")) -> list[Path]:
    """The table, the text and the pictures of a study; which files that were."""
    name = done.study.name
    drawn = draw(done.study.charts(done.rows), name, pictures)
    files = {f"{name}.csv": table(done.rows).encode(), **drawn}
    files[f"{name}.md"] = text(done, shown_picture(drawn), level=1).encode()
    for file, data in files.items():
        write_whole(folder / file, data, _ADVICE)
    return [folder / file for file in files]


def described(graph: WebGraph) -> str:
    """A graph in one line: its name and size, and what was taken for sites."""
    sites = len(np.unique(sites_of(graph)))
    is_known = graph.urls or graph.sizes_bytes is not None
    guessed = "" if is_known else ", which are ranges of pages that link among themselves: it has no URLs"
    return f"{graph.name}: {graph.pages:,} pages, {graph.links:,} links, {sites:,} sites{guessed}"


def text(done: Result, picture: str | None = None, level: int = 2) -> str:
    """What the paper says, what came out here, and why where they differ."""
    graph, study = done.graph, done.study
    parts = [f"{'#' * level} {study.title}", study.about, f"Graph: {described(graph)}. Took {done.seconds:,.1f} s."]
    if picture:
        parts.append(f"![{study.title}]({picture})")
    if advice := study.advice(done.rows):
        parts.append(f"{advice[0].upper()}{advice[1:]}.")
    lines = ["| claim | paper | here | agrees |", "|---|---|---|---|"]
    for found, verdict in verdicts(done):
        why = f" ({found.why})" if found.why and verdict is not ClaimVerdict.UNSEEN else ""
        lines.append(f"| {found.claim} | {found.paper} | {found.ours}{why} | {verdict} |")
    if len(lines) > 2:
        parts.append("\n".join(lines))
    if both := beside(done):
        parts.append(both)
    return "\n\n".join(parts) + "\n"


def verdicts(done: Result) -> list[tuple[Finding, ClaimVerdict]]:
    """Each claim, and whether it came out; of a web of one site, what needs several says nothing."""
    is_one_site = len(np.unique(sites_of(done.graph))) < 2

    def verdict(found: Finding) -> ClaimVerdict:
        if is_one_site and (done.study.by_sites or found.by_sites):
            return ClaimVerdict.UNSEEN
        return ClaimVerdict.AGREES if found.agrees else ClaimVerdict.DIFFERS

    return [(found, verdict(found)) for found in done.study.findings(done.rows)]


def beside(done: Result) -> str:
    """The figures that the paper gives, each beside ours of the same case, as a table; empty where there are none."""
    study = done.study
    ours = {tuple(getattr(row, key) for key in study.keys): row for row in reversed(done.rows)}
    pairs = [
        (paper, ours[case])
        for paper in study.paper
        for case in [tuple(getattr(paper, key) for key in study.keys)]
        if study.keys and case in ours
    ]
    measured = [
        field.name
        for field in fields(study.row)
        if field.name not in study.keys and any(getattr(paper, field.name) != field.default for paper, _ in pairs)
    ]
    if not pairs:
        return ""
    lines = [
        [*study.keys, *(f"{name}: {whose}" for name in measured for whose in ("paper", "here"))],
        ["---"] * (len(study.keys) + 2 * len(measured)),
        *(
            [
                *(str(getattr(paper, key)) for key in study.keys),
                *(_cell(getattr(row, name)) for name in measured for row in (paper, mine)),
            ]
            for paper, mine in pairs
        ),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, int | float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return "" if value is None else str(value)


def shown_picture(files: Iterable[str]) -> str | None:
    """The picture that a text shows, of the files that were written: the SVG, if there is one."""
    drawn = sorted((file for file in files if file.endswith((".svg", ".png"))), reverse=True)
    return next(iter(drawn), None)


def page(results: Sequence[tuple[Result, str | None]]) -> str:
    """All studies on one page, each with its picture."""
    contents = ["| study | claims that come out as in the paper | seconds |", "|---|---|---|"]
    for done, _ in results:
        found = [verdict for _, verdict in verdicts(done) if verdict is not ClaimVerdict.UNSEEN]
        counted = f"{found.count(ClaimVerdict.AGREES)} of {len(found)}" if found else str(ClaimVerdict.UNSEEN)
        contents.append(f"| {done.study.title} | {counted} | {done.seconds:,.0f} |")
    parts = [
        f"# Studies on {results[0][0].graph.name if results else 'nothing'}",
        "The papers' experiments on a web graph, made by `gcs study all`. For each claim: what the paper found, what "
        "came out here, and why where they differ.",
        "\n".join(contents),
        *(text(done, picture) for done, picture in results),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _given(row: Row) -> dict[str, Any]:
    """A row of the paper's: only what the paper says."""
    return {name: value for name, value in msgspec.to_builtins(row).items() if value is not None}


def _shown(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value
