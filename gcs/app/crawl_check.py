"""Checks a crawl directory: log, WARC and Parquet files, frontiers and saved files, against one another; and repairs.

A repair makes what can be derived, and never destroys: a damaged file is set aside as FILE.cut.

| damaged or missing            | repair                                                                               |
|-------------------------------|--------------------------------------------------------------------------------------|
| frontier                      | set aside; the next `gcs crawl` makes it anew from the records                       |
| log file                      | its whole records stay; the frontier is made anew, so the others are fetched again   |
| Parquet file                  | made again from its log file, if that was kept (store.keep_logs); else as a log file |
| seeds, settings, session      | written again from their copies                                                      |
| WARC file; seed-server's URLs | none: restore them from a backup                                                     |

Invariant: nobody has the directory open. It refuses while the crawl runs.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from gcs.app import crawl_dir
from gcs.errors import StoreError, UsageError
from gcs.ports.frontier.lmdb_file import discard, is_locked
from gcs.ports.frontier.mark_lookup import MarkLookup
from gcs.ports.frontier.soundness import damage_of
from gcs.ports.frontier.url_rows import Mark
from gcs.ports.records.file_book import FileBook
from gcs.ports.records.finished_files import replace_damaged
from gcs.ports.records.layout import StoreLayout, parse_parquet_name
from gcs.ports.records.record_log import Position
from gcs.ports.records.recovery import salvage
from gcs.ports.records.verification import StoreCheck, StoreProblem

SAVED = ("seeds.txt", "settings.json", "session")


class Problem(msgspec.Struct):
    """A file that is damaged or missing."""

    file: str
    what: str
    #: what was done about it, or what is to be done
    advice: str
    repaired: bool = False


class Verification(msgspec.Struct):
    """What `gcs verify` found. Other tools read it, so its field names are a contract."""

    directory: str
    gatherers: int = 0
    records: int = 0
    parquet_files: int = 0
    warc_files: int = 0
    warc_records: int = 0
    problems: list[Problem] = []

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong, or nothing is any more."""
        return all(problem.repaired for problem in self.problems)


def verify(directory: Path, repair: bool) -> Verification:
    """Check the crawl in a directory; with `repair`, repair what can be."""
    return CrawlCheck(directory, repair).run()


@dataclass(slots=True)
class CrawlCheck:
    """One check of a crawl directory."""

    directory: Path
    repair: bool
    found: Verification = field(init=False)
    #: frontiers that can be read, by gatherer
    _marks: dict[str, MarkLookup] = field(default_factory=dict)
    #: gatherers whose frontiers are to be made anew
    _outdated: set[str] = field(default_factory=set)
    #: records of the last session, and those of them that no frontier knows
    _expected: int = 0
    _unknown: int = 0

    def run(self) -> Verification:
        self.found = Verification(str(self.directory))
        names = self._gatherers()
        self._check_saved()
        self._check_registries()
        with ExitStack() as opened:
            for name in names:
                self._open_frontier(name, opened)
            session = max(crawl_dir.current_session(self.directory), 1)
            for name in names:
                self._check_records(name, session)
            recorded = sum(marks.recorded() for marks in self._marks.values())
        if len(self._marks) == len(names) and (self._unknown or recorded > self._expected):
            lost = max(recorded - self._expected, 0)
            what = f"they know {lost:,} pages without a record, and not {self._unknown:,} pages that have one"
            self._outdated.update(names)
            self._add("state/*/frontier", what, "the next gcs crawl makes them anew from the records", can=True)
        for name in sorted(self._outdated) if self.repair else ():
            discard(self._frontier(name))
        return self.found

    def _gatherers(self) -> list[str]:
        state = self.directory / "state"
        names = {path.parent.name for pattern in ("*/log", "*/frontier") for path in state.glob(pattern)}
        parquets = (parse_parquet_name(path.name) for path in self.directory.glob("summaries/*.parquet"))
        names |= {parsed[0] for parsed in parquets if parsed}
        if not names:
            raise UsageError(f"{self.directory}: there is no crawl here; give the DIR of `gcs crawl -o DIR`")
        running = [name for name in sorted(names) if is_locked(self._frontier(name))]
        if running:
            where = f"{self.directory}: a crawl is running here ({', '.join(running)})"
            raise UsageError(f"{where}; stop it first (Ctrl-C, or gcs stop)")
        self.found.gatherers = len(names)
        return sorted(names)

    def _check_saved(self) -> None:
        for name in SAVED:
            file = self.directory / "state" / name
            if (kept := crawl_dir.read_kept(file)) is not None and not (file.exists() and file.read_bytes() == kept):
                if self.repair:
                    crawl_dir.write_kept(file, kept, "choose another place", 0o600)
                self._add(f"state/{name}", "is not as it was written", "it is written again from its copy", can=True)
        try:
            crawl_dir.reports(self.directory)
        except StoreError as error:
            self._add("sessions", str(error), "", can=False)

    def _check_registries(self) -> None:
        for folder in sorted(self.directory.glob("state/*/registry")):
            if why := damage_of(folder):
                advice = "restore it from a backup: nobody else knows the URLs of a seed-server"
                self._add(str((folder / "data.mdb").relative_to(self.directory)), why, advice, can=False)

    def _open_frontier(self, name: str, opened: ExitStack) -> None:
        folder = self._frontier(name)
        if why := damage_of(folder):
            self._outdated.add(name)
            self._add(f"state/{name}/frontier/data.mdb", why, "the next gcs crawl makes it anew from the records", True)
        elif (folder / "data.mdb").exists():
            self._marks[name] = marks = MarkLookup(folder)
            opened.callback(marks.close)

    def _check_records(self, name: str, session: int) -> None:
        url = self.directory / "state" / name / "url"
        if url.exists():
            where = url.read_text("utf-8", "replace").strip()
            self._add(f"state/{name}", f"its finished files are at {where}", "they are not checked", repaired=True)
            return
        position = self._marks[name].position if name in self._marks else Position()

        def count(url: str, of_session: int, at: Position) -> None:
            if of_session == session and at <= position:
                self._expected += 1
                marks = (each.mark(url) for each in self._marks.values())
                self._unknown += not any(mark in (Mark.DONE, Mark.FAILED, Mark.QUEUED) for mark in marks)

        check = StoreCheck(StoreLayout(self.directory, name), count)
        check.run()
        found = self.found
        found.records += check.records
        found.parquet_files += check.parquet_files
        found.warc_files += check.warc_files
        found.warc_records += check.warc_records
        for problem in check.problems:
            self._take_in(check.layout, problem)

    def _take_in(self, layout: StoreLayout, problem: StoreProblem) -> None:
        file = str(problem.file.relative_to(self.directory))
        if problem.kind == "warc":
            self._add(file, problem.what, "restore it from a backup; its pages are still in the summaries", can=False)
            return
        kept = layout.log / f"{problem.number:06d}.kept"
        if problem.kind == "parquet" and kept.exists():
            advice = "it is made again from its log file"
        else:
            advice = "the next gcs crawl fetches again what the file held"
            self._outdated.add(layout.gatherer)
        if self.repair and problem.kind == "log":
            salvage(problem.file)
        elif self.repair:
            replace_damaged(problem.file, FileBook(layout.book), kept if kept.exists() else None)
        self._add(file, problem.what, advice, can=True)

    def _add(self, file: str, what: str, advice: str, can: bool = False, repaired: bool = False) -> None:
        self.found.problems.append(Problem(file, what, advice, repaired or (can and self.repair)))

    def _frontier(self, name: str) -> Path:
        return self.directory / "state" / name / "frontier"
