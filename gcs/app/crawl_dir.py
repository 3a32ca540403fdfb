"""The files of a crawl directory that outlive a run.

    state/seeds.txt, settings.json   the seeds, and the settings that are not the defaults: `gcs crawl -o DIR` goes on
                                     with the same scope, contact and politeness. Limits are left out, because to go on
                                     past a limit is what a second run is for
    state/superstep.json             the superstep that the last session predicts for the next one (papers.md M7)
    state/session                    number of the session under way, or of the last one
    sessions/NNNN.plan, .json        plan and report of each session
    state/NAME/frontier              the disk of a gatherer, with its share of the report

Invariant: the files are replaced in one step, so a full disk or a crash leaves the old ones.
"""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from gcs.core.report import report
from gcs.core.report.report import Report, Share
from gcs.errors import StoreError
from gcs.ports.frontier.lmdb_file import peek
from gcs.settings import Settings, differences

#: settings that hold for one run only
ONE_RUN = frozenset({"crawl.max_pages", "crawl.max_seconds"})
#: URLs in a block: fewer cost more than they save, more would hold up the gatherer that takes them in
LEAST_URLS, MOST_URLS = 100, 5_000
_ADVICE = "choose another place"


@dataclass(frozen=True, slots=True)
class SavedCrawl:
    """The seeds that a crawl was ever given, and its settings by dotted key."""

    seeds: tuple[str, ...] = ()
    settings: dict[str, object] = field(default_factory=dict)

    @staticmethod
    def read(directory: Path) -> "SavedCrawl":
        """The seeds and settings of the directory; none where there was no crawl."""
        seeds, settings = _files(directory)
        try:
            return SavedCrawl(
                tuple(seeds.read_text().splitlines()) if seeds.exists() else (),
                msgspec.json.decode(settings.read_bytes(), type=dict[str, object]) if settings.exists() else {},
            )
        except OSError as error:
            raise StoreError(f"{error.filename}: cannot be read ({error.strerror})") from None
        except ValueError:
            raise StoreError(f"{directory}/state: its seeds or settings are damaged; start a new directory") from None

    def write(self, directory: Path, seeds: list[str], settings: Settings) -> None:
        """Save seeds and settings for the next run; a file that would not change is left alone."""
        seeds_file, settings_file = _files(directory)
        kept = msgspec.json.encode({key: value for key, value in differences(settings).items() if key not in ONE_RUN})
        if tuple(seeds) != self.seeds:
            write_whole(seeds_file, "".join(f"{seed}\n" for seed in seeds).encode(), "choose another -o DIR")
        if kept != msgspec.json.encode(self.settings):
            write_whole(settings_file, kept, "choose another -o DIR", 0o600)  # a proxy may have a password


def write_whole(file: Path, data: bytes, advice: str, mode: int = 0o666) -> None:
    """Write a file in one step: it is there with all of this, or as it was."""
    try:
        if file.is_symlink() or (file.exists() and not file.is_file()):  # a link, pipe or device must stay one
            file.write_bytes(data)
        else:
            _replace(file, data, mode)
    except OSError as error:
        raise StoreError(f"{file}: cannot be written ({error.strerror}); {advice}") from None


def _replace(file: Path, data: bytes, mode: int) -> None:
    partial = file.with_name(f".{file.name}.part")
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial.touch(mode)
        partial.write_bytes(data)
        partial.replace(file)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def _files(directory: Path) -> tuple[Path, Path]:
    return directory / "state" / "seeds.txt", directory / "state" / "settings.json"


# -- the superstep that the last session predicts for the next one


class PredictedSuperstep(msgspec.Struct, frozen=True):
    """How much each gatherer of a team of this size may do between two exchanges."""

    gatherers: int
    #: R: pages
    pages: int
    #: β: URLs for one other
    urls: int
    #: part of the pages that would have been fetched earlier, had every link been sent at once
    error: float


def write_prediction(directory: Path, predicted: PredictedSuperstep) -> None:
    """Save the prediction for the next session."""
    write_whole(_prediction_file(directory), msgspec.json.encode(predicted), _ADVICE)


def apply_prediction(directory: Path, settings: Settings, gatherers: int) -> Settings:
    """The settings, with the superstep predicted for so many gatherers where the user has set none."""
    try:
        predicted = msgspec.json.decode(_prediction_file(directory).read_bytes(), type=PredictedSuperstep)
    except (OSError, msgspec.MsgspecError):
        return settings
    if predicted.gatherers != gatherers:
        return settings
    team = settings.team
    pages = team.superstep_pages or predicted.pages
    urls = team.block_urls or min(max(predicted.urls, LEAST_URLS), MOST_URLS)
    return dataclasses.replace(settings, team=dataclasses.replace(team, superstep_pages=pages, block_urls=urls))


def _prediction_file(directory: Path) -> Path:
    return directory / "state" / "superstep.json"


# -- sessions: the one under way, the plans made for them, and their reports


def current_session(directory: Path) -> int:
    """The session under way, or the last one; 0 where there was none."""
    file = directory / "state" / "session"
    try:
        if file.exists():
            return int(file.read_text())
    except (OSError, ValueError):
        raise StoreError(f"{file}: does not say which session it is; write its number there") from None
    return 1 if (directory / "state").is_dir() else 0


def begin_session(directory: Path, number: int) -> None:
    """Record that this session is under way."""
    write_whole(directory / "state" / "session", f"{number}\n".encode(), _ADVICE)


def was_barren(directory: Path) -> bool:
    """Whether the last session ended without a page: to run it again means to ask again."""
    last = reports(directory).get(current_session(directory))
    return last is not None and last.is_barren


def plan_file(directory: Path, number: int) -> Path:
    """Where the plan of a session is, if there is one."""
    return directory / "sessions" / f"{number:04d}.plan"


def report_file(directory: Path, number: int) -> Path:
    """Where the report of a session is, when it has ended."""
    return directory / "sessions" / f"{number:04d}.json"


def reports(directory: Path) -> dict[int, Report]:
    """The reports of the sessions that have ended, by number."""
    found: dict[int, Report] = {}
    for file in sorted((directory / "sessions").glob("[0-9]*.json")):
        try:
            found[int(file.stem)] = msgspec.json.decode(file.read_bytes(), type=Report)
        except (OSError, ValueError) as error:
            raise StoreError(f"{file}: is no report ({error}); move it away") from None
    return found


def count_unique(directory: Path, shares: list[Share]) -> int | None:
    """Different pages that a team has stored in its session, where records can be read here; None for one alone.

    What a gatherer has stored elsewhere counts as different from all the others'.
    """
    shares = report.current(shares)
    if len(shares) < 2:
        return None
    from gcs.ports.records.reading import distinct  # a crawl alone does without it

    found = distinct(directory, shares[0].session, sum(share.counters.pages for share in shares))
    return found.unique + sum(share.unique for share in shares if not found.stored[share.id])


def read_shares(directory: Path) -> tuple[list[Share], bool]:
    """What each gatherer whose disk is here has done, and whether one of them runs."""
    seen = [peek(file.parent) for file in sorted(directory.glob("state/*/frontier/data.mdb"))]
    shares = [msgspec.msgpack.decode(each.share, type=Share) for each in seen if each.share is not None]
    return shares, any(each.is_running for each in seen)


def running_gatherers(directory: Path) -> list[str]:
    """The gatherers that have their disks here and run."""
    frontiers = sorted(file.parent for file in directory.glob("state/*/frontier/data.mdb"))
    return [frontier.parent.name for frontier in frontiers if peek(frontier).is_running]
