"""The jobs of a station: which crawls of its folder are to run, in which order, and when by the clock. Kept in a file.

    queued ──there is room──► running ──its process ends──► (gone)

The next job is that of the owner who has the fewest crawls running, and of those, the one that came first: so that
nobody keeps the others waiting with many crawls.

Invariant: what is in the file is to be done: a station that is started again goes on with it.
"""

import time
from collections import Counter
from pathlib import Path

import msgspec

from gcs.app.crawl_dir import write_whole

#: the folder with what the station keeps, in the folder of the crawls
STATION = ".station"


class CrawlJob(msgspec.Struct):
    """A crawl that is to run."""

    id: str
    asked_at: float
    #: begin the next session
    next: bool = False
    running: bool = False


class KeptCrawl(msgspec.Struct):
    """What the station knows of a crawl, whether it runs or not."""

    owner: str = ""
    share: float = 1.0
    #: five fields of cron; "" for no schedule
    cron: str = ""
    next_at: float = 0.0
    #: why its last run failed
    error: str = ""


class _Kept(msgspec.Struct):
    jobs: list[CrawlJob] = []
    crawls: dict[str, KeptCrawl] = {}


class CrawlJobs:
    """The jobs and crawls of a folder."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / STATION / "jobs.json"
        try:
            self._kept = msgspec.json.decode(self._file.read_bytes(), type=_Kept)
        except (OSError, msgspec.DecodeError):
            self._kept = _Kept()
        for job in self._kept.jobs:
            job.running = False  # its process ended with the station

    @property
    def jobs(self) -> list[CrawlJob]:
        return self._kept.jobs

    @property
    def crawls(self) -> dict[str, KeptCrawl]:
        return self._kept.crawls

    def crawl(self, id: str) -> KeptCrawl:
        return self._kept.crawls.setdefault(id, KeptCrawl())

    def job(self, id: str) -> CrawlJob | None:
        return next((job for job in self._kept.jobs if job.id == id), None)

    def add(self, id: str, begins: bool) -> int:
        """Queue a crawl; returns its place in the queue."""
        self._kept.jobs.append(CrawlJob(id, time.time(), begins))
        self.save()
        return self.place(id)

    def remove(self, id: str) -> None:
        self._kept.jobs[:] = [job for job in self._kept.jobs if job.id != id]
        self.save()

    def place(self, id: str) -> int:
        """In the queue, from 1; 0 for a crawl that does not wait."""
        waiting = [job.id for job in self._kept.jobs if not job.running]
        return waiting.index(id) + 1 if id in waiting else 0

    def next(self) -> CrawlJob | None:
        """The job that is to begin when there is room."""
        running = Counter(self.crawl(job.id).owner for job in self._kept.jobs if job.running)
        waiting = [job for job in self._kept.jobs if not job.running]
        return min(waiting, key=lambda job: (running[self.crawl(job.id).owner], job.asked_at), default=None)

    def save(self) -> None:
        write_whole(self._file, msgspec.json.encode(self._kept), "choose another folder", 0o600)
