"""How the crawls of a folder stand: each from its directory, and one by one gatherer that runs by its own word."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from gcs.app.crawl_dir import by_list, count_unique, is_crawl, read_standing, running_gatherers
from gcs.app.crawl_input import SavedCrawl
from gcs.core.report import report
from gcs.core.report.report import Report
from gcs.errors import GcsError, UsageError
from gcs.ports.system.control_socket import ControlOrder, ask
from gcs.settings import Settings, load

#: folders below the one that is named in which crawls are looked for
DEPTH = 2


class ListedCrawl(msgspec.Struct, frozen=True):
    """One line of the list."""

    directory: str
    crawl: str = ""
    state: str = ""
    session: int = 0
    #: that it has after this session
    pages: int = 0
    queued: int = 0
    #: when something was last stored, in seconds since 1970
    changed_at: float = 0.0
    seeds: tuple[str, ...] = ()
    #: why nothing more is known
    error: str = ""
    #: share of the crawl that is done
    explored: float = 0.0

    def is_stale(self, directory: Path) -> bool:
        """Whether the crawl has gone on since."""
        return _changed_at(directory) != self.changed_at or bool(running_gatherers(directory))


def list_crawls(folder: Path) -> Iterator[ListedCrawl]:
    """The crawl in this folder, or those in its folders, by name."""
    return map(list_crawl, crawls_below(folder))


def list_crawl(directory: Path) -> ListedCrawl:
    """How the crawl in a directory stands."""
    changed_at = _changed_at(directory)
    try:
        figures, seeds = status_of(directory), SavedCrawl.read(directory).seeds
    except (GcsError, OSError) as error:
        return ListedCrawl(str(directory), changed_at=changed_at, error=str(error))
    how = (figures.crawl, figures.state, figures.session, figures.held, figures.queued)
    return ListedCrawl(str(directory), *how, changed_at, seeds, explored=figures.outlook.progress)


def crawls_below(folder: Path) -> list[Path]:
    """The directories of the crawls in this folder and in its folders."""
    return _crawls_below(folder, DEPTH)


def status_of(directory: Path) -> Report:
    """The report of the crawl as it stands now: by its own word, or as of its last checkpoint."""
    saved = SavedCrawl.read(directory).settings
    name = str(saved.get("crawl.name", Settings().crawl.name))
    answer = ask(directory, ControlOrder("status"))
    if answer and answer.share:
        return report.build(name, answer.state, [answer.share])
    shares, state = read_standing(directory)
    if not shares and state != "running" and not is_crawl(directory):
        raise UsageError(f"{directory}: there is no crawl here; give the DIR of `gcs crawl -o DIR`")
    if state == "running":
        return report.build(name, state, shares)
    figures = report.build(name, state, shares, count_unique(directory, shares))
    if not saved.get("crawl.expected"):
        return figures
    settings = load(None, {}, {}, before=saved)
    return by_list(figures, directory, settings.crawl.expected, settings.urls)


def _crawls_below(folder: Path, depth: int) -> list[Path]:
    """What cannot be read is left out."""
    if is_crawl(folder):
        return [folder]
    try:
        folders = sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
    except OSError:
        return []
    return [crawl for each in folders if depth for crawl in _crawls_below(each, depth - 1)]


def _changed_at(directory: Path) -> float:
    files = [*directory.glob("state/*/frontier/data.mdb"), directory / "state" / "seeds.txt"]
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)
