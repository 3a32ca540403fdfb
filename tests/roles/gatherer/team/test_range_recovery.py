"""Links into a lost range are found again, also if the gatherer that looks for them dies while it does."""

from collections.abc import Iterator
from pathlib import Path

from gcs.core.page.values import PageRecord
from gcs.core.url.sortkey import LAST_KEY, sort_key
from gcs.ports.frontier import Frontier, FrontierSettings, Mark
from gcs.roles.gatherer.team.range_recovery import SLICE_RECORDS, RangeRecovery

from .pages import record

LOST = ((sort_key("http://lost.example/"), sort_key("http://lost.example/").replace(b"/http", b"/httq")),)


def looking(frontier: Frontier, records: list[PageRecord]) -> RangeRecovery:
    def read() -> Iterator[PageRecord]:
        return iter(records)

    return RangeRecovery("a", frontier, read)


def test_look_back_finds_links_into_lost_ranges_in_slices_and_after_a_crash(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    records = [record(number) for number in range(2 * SLICE_RECORDS + 1)]
    look_back = looking(frontier, records)
    assert look_back.step(("a",)) == ([], [])
    look_back.begin(LOST)
    look_back.step(("a",))
    assert not look_back.is_done
    frontier.commit()
    frontier.close()
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    look_back = looking(frontier, records)
    found = []
    while not look_back.is_done:
        links, marks = look_back.step(("a",))
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


def test_look_back_reads_its_own_records_and_those_of_gatherers_that_have_left(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    look_back = looking(frontier, [record(0), record(1, "b"), record(2, "gone"), record(3, status=301)])
    look_back.begin(((b"", LAST_KEY),))
    look_back.admit = lambda urls, depth: [url for url in urls if "kept" not in url and depth]
    look_back.seeds = lambda: ["http://seed.example/"]
    links, marks = look_back.step(("a", "b"))
    assert [(entry.url, entry.depth) for entry in links] == [
        ("http://lost.example/0", 4),
        ("http://lost.example/2", 4),
        ("http://lost.example/3", 3),
        ("http://seed.example/", 0),
    ]
    assert marks == [(sort_key(f"http://a.example/{number}"), Mark.DONE) for number in (0, 2, 3)]
    frontier.close()


def test_look_back_tells_what_is_stored_before_the_links_that_lead_there(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    records = [record(number) for number in range(SLICE_RECORDS + 1)]
    look_back = looking(frontier, records)
    look_back.begin(((b"", LAST_KEY),))
    links, marks = look_back.step(("a",))
    assert (len(links), len(marks)) == (0, SLICE_RECORDS)
    links, marks = look_back.step(("a",))
    assert (len(links), len(marks)) == (2 * (SLICE_RECORDS - 1), 1)
    frontier.close()
