"""Links into a lost range are found again, also if the gatherer dies during the search."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from gcs.core.page.values import PageRecord
from gcs.core.plan.plan import Plan
from gcs.core.url.queued_url import level_of
from gcs.core.url.sortkey import LAST_KEY, sort_key
from gcs.ports.frontier import Frontier, FrontierSettings, Mark
from gcs.roles.gatherer.team.range_recovery import SLICE_RECORDS, RangeRecovery

from .pages import record

LOST = ((sort_key("http://lost.example/"), sort_key("http://lost.example/").replace(b"/http", b"/httq")),)


def plan_of(*gatherers: str) -> Plan:
    return Plan(1, gatherers, (b"",), (0,))


class Admission:
    """Admits every link but those with a word in them."""

    def __init__(self, *seeds: str, unwanted: str = " ") -> None:
        self.seeds, self._unwanted = seeds, unwanted

    def wanted(self, urls: list[str], depth: int) -> list[str]:
        return [url for url in urls if self._unwanted not in url and depth]

    def wanted_requisites(self, urls: Iterable[str]) -> list[str]:
        return [url for url in urls if self._unwanted not in url]


def looking(frontier: Frontier, records: list[PageRecord], admission: Any = Admission()) -> RangeRecovery:  # noqa: B008
    def read() -> Iterator[PageRecord]:
        return iter(records)

    return RangeRecovery("a", frontier, read, admission)


def test_recovery_finds_links_into_lost_ranges_in_slices_and_after_a_crash(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    records = [record(number) for number in range(2 * SLICE_RECORDS + 1)]
    recovery = looking(frontier, records)
    assert recovery.step(plan_of("a")) == ([], [])
    recovery.begin(LOST)
    recovery.step(plan_of("a"))
    assert not recovery.is_done
    frontier.commit()
    frontier.close()
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    recovery = looking(frontier, records)
    found = []
    while not recovery.is_done:
        links, marks = recovery.step(plan_of("a"))
        assert len(links) <= SLICE_RECORDS
        assert marks == []
        found += links
    assert {entry.url for entry in found} == {f"http://lost.example/{number}" for number in range(len(records))}
    assert {(entry.depth, entry.parent[:17]) for entry in found} == {(4, "http://a.example/")}
    frontier.commit()
    frontier.close()
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    assert looking(frontier, records).is_done
    frontier.close()


def test_recovery_reads_its_own_records_and_those_of_gatherers_that_have_left(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    admission = Admission("http://seed.example/", unwanted="kept")
    recovery = looking(frontier, [record(0), record(1, "b"), record(2, "gone"), record(3, status=301)], admission)
    recovery.begin(((b"", LAST_KEY),))
    links, marks = recovery.step(plan_of("a", "b"))
    assert [(entry.url, entry.depth) for entry in links] == [
        ("http://lost.example/0", 4),
        ("http://lost.example/2", 4),
        ("http://lost.example/3", 3),
        ("http://seed.example/", 0),
    ]
    assert marks == [(sort_key(f"http://a.example/{number}"), Mark.DONE) for number in (0, 2, 3)]
    frontier.close()


def test_recovery_finds_stored_pages_before_links(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    records = [record(number) for number in range(SLICE_RECORDS + 1)]
    recovery = looking(frontier, records)
    recovery.begin(((b"", LAST_KEY),))
    links, marks = recovery.step(plan_of("a"))
    assert (len(links), len(marks)) == (0, SLICE_RECORDS)
    links, marks = recovery.step(plan_of("a"))
    assert (len(links), len(marks)) == (2 * (SLICE_RECORDS - 1), 1)
    frontier.close()


def test_recovery_finds_what_pages_need(tmp_path: Path) -> None:
    """Also where the style sheet that needs it was lost with its range."""
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    page = msgspec.structs.replace(
        record(0), outlinks=[], requisites=["http://lost.example/a.css", "http://a.example/b"]
    )
    sheet = msgspec.structs.replace(record(1), outlinks=[], requisite=1, requisites=["http://lost.example/f.woff"])
    recovery = looking(frontier, [page, sheet])
    recovery.begin(LOST)
    links, _ = recovery.step(plan_of("a"))
    assert [(entry.url, level_of(entry.depth), entry.priority) for entry in links] == [
        ("http://lost.example/a.css", 1, 0),
        ("http://lost.example/f.woff", 2, 0),
    ]
    frontier.close()
