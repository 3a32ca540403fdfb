"""The jobs of a station: who comes next, and what a station that was killed goes on with."""

from pathlib import Path

import pytest

from gcs.app.station.crawl_jobs import CrawlJobs
from gcs.app.station.shares import niceness, parts_of


def jobs_of(folder: Path, owners: dict[str, str]) -> CrawlJobs:
    jobs = CrawlJobs(folder)
    for crawl, owner in owners.items():
        jobs.crawl(crawl).owner = owner
        jobs.add(crawl, begins=False)
    return jobs


def test_next_job_is_of_whoever_has_the_fewest_running(tmp_path: Path) -> None:
    """Though all of the other one came before."""
    jobs = jobs_of(tmp_path, {"a1": "ann", "a2": "ann", "a3": "ann", "b1": "bob"})
    begun = []
    while job := jobs.next():
        job.running = True
        begun.append(job.id)
    assert begun == ["a1", "b1", "a2", "a3"]


def test_place_in_the_queue_counts_those_that_wait(tmp_path: Path) -> None:
    jobs = jobs_of(tmp_path, {"a": "x", "b": "x"})
    first = jobs.next()
    assert first and first.id == "a"
    first.running = True
    assert (jobs.place("a"), jobs.place("b"), jobs.place("c")) == (0, 1, 0)


def test_jobs_outlive_the_station_and_wait_again(tmp_path: Path) -> None:
    jobs = jobs_of(tmp_path, {"a": "x", "b": "y"})
    job = jobs.next()
    assert job
    job.running = True
    jobs.save()
    again = CrawlJobs(tmp_path)
    assert [job.id for job in again.jobs] == ["a", "b"] and not any(job.running for job in again.jobs)
    assert again.crawl("b").owner == "y"


def test_shares_are_parts_of_the_whole() -> None:
    parts = parts_of({"large": 3.0, "small": 1.0})
    assert parts == {"large": 0.75, "small": 0.25}
    assert (niceness(0.75, 0.75), niceness(0.25, 0.75), niceness(0.001, 0.999)) == (0, 5, 19)
    assert parts_of({}) == {}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"jobs": 1}'])
def test_damaged_file_of_jobs_begins_anew(tmp_path: Path, content: bytes) -> None:
    jobs_of(tmp_path, {"a": "x"})
    (tmp_path / ".station" / "jobs.json").write_bytes(content)
    assert CrawlJobs(tmp_path).jobs == []
