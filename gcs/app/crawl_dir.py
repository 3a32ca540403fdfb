"""The files of a crawl directory that outlive a run.

    state/seeds.txt, settings.json   seeds and settings: see SavedCrawl in crawl_input.py
    state/superstep.json             the superstep that the last session predicts for the next one (papers.md M7)
    state/session                    number of the session under way, or of the last one
    sessions/NNNN.plan, .json        plan and report of each session
    state/.NAME.copy                 copies of seeds.txt, settings.json and session, with a checksum
    state/NAME/frontier              the disk of a gatherer, with its share of the report
    state/control                    socket for orders to a crawl by one gatherer: see ports/system/control_socket.py

Invariant: the files are replaced in one step, so a full disk or a crash leaves the old ones.
"""

import dataclasses
import os
import time
from pathlib import Path

import msgspec
import xxhash

from gcs.core.report import report
from gcs.core.report.counters import Counters
from gcs.core.report.estimate import is_at_limit
from gcs.core.report.report import Report, Share
from gcs.core.url.canonical import UrlRules, canonical
from gcs.errors import DamagedError, StoreError, UsageError
from gcs.events import Events
from gcs.ports.frontier.lmdb_file import FrontierPeek, is_locked, peek
from gcs.ports.system.own_file import open_own
from gcs.settings import Settings

#: URLs in a block: fewer cost more than they save, more would hold up the gatherer that takes them in
LEAST_URLS, MOST_URLS = 100, 5_000
#: seconds until a gatherer that was killed a moment ago has released its directory
LET_GO_S = 1.0
_ADVICE = "choose another place"
_CHECKSUM_BYTES = 8
#: gatherers that are named of those whose pages are elsewhere
_NAMED = 5

events = Events("crawl")


def is_crawl(directory: Path) -> bool:
    """Whether there is a crawl, or was one."""
    state = directory / "state"
    return (state / "seeds.txt").is_file() or next(state.glob("*/frontier/data.mdb"), None) is not None


def write_whole(file: Path, data: bytes, advice: str, mode: int = 0o666, *, is_named: bool = False) -> None:
    """Write a file in one step: it is there with all of this, or as it was.

    `is_named`: the user has named this very file, so a link, pipe or device stays one. Any other link is replaced.
    """
    try:
        if is_named and (file.is_symlink() or (file.exists() and not file.is_file())):
            file.write_bytes(data)
        else:
            _replace(file, data, mode)
    except OSError as error:
        raise StoreError(f"{file}: cannot be written ({error.strerror}); {advice}") from None


def _replace(file: Path, data: bytes, mode: int) -> None:
    partial = file.with_name(f".{file.name}.part")
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial.unlink(missing_ok=True)
        with os.fdopen(open_own(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as new:
            new.write(data)
        partial.replace(file)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


# -- files of which a copy is kept: the crawl cannot go on as it began without them


def write_kept(file: Path, data: bytes, advice: str, mode: int = 0o666) -> None:
    """Write a file and a copy with a checksum, where they are not so already. `read_kept` needs one of the two."""
    packed = xxhash.xxh3_64_digest(data) + data
    for path, content in ((_copy_of(file), packed), (file, data)):  # the copy first: it is the one that is believed
        if not path.is_file() or path.read_bytes() != content:
            write_whole(path, content, advice, mode)


def read_kept(file: Path) -> bytes | None:
    """What was written last, even if the file was changed, damaged or deleted since; None if there was nothing."""
    data = file.read_bytes() if file.exists() else None
    packed = _copy_of(file).read_bytes() if _copy_of(file).exists() else b""
    copy = packed[_CHECKSUM_BYTES:]
    if not packed or xxhash.xxh3_64_digest(copy) != packed[:_CHECKSUM_BYTES] or copy == data:
        return data
    events.warning("file-restored", file=file, advice="to change seeds or settings, give them to gcs crawl")
    return copy


def _copy_of(file: Path) -> Path:
    return file.with_name(f".{file.name}.copy")


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
        if (number := read_kept(file)) is not None:
            return int(number)
    except (OSError, ValueError):
        raise StoreError(f"{file}: does not say which session it is; write its number there") from None
    return 1 if (directory / "state").is_dir() else 0


def begin_session(directory: Path, number: int) -> None:
    """Record that this session is under way."""
    write_kept(directory / "state" / "session", f"{number}\n".encode(), _ADVICE)


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
    from gcs.ports.records.reading import distinct, warn  # a crawl alone does without it

    found = distinct(directory, shares[0].session, sum(share.counters.pages for share in shares), on_damage=warn)
    return found.unique + sum(share.unique for share in shares if not found.stored[share.id])


def by_list(report: Report, directory: Path, expected: str, rules: UrlRules) -> Report:
    """The report with its coverage of the URLs in this file; as it is if there is no file."""
    if not expected:
        return report
    from gcs.ports.records.reading import latest

    try:
        lines = Path(expected).read_text(errors="replace").split()
    except OSError as error:
        raise UsageError(
            f"crawl.expected: {expected}: cannot be read ({error.strerror}); give a file of URLs, one a line"
        ) from None
    wanted = {
        xxhash.xxh3_64_intdigest((canonical(line, rules) or line).encode())
        for line in lines
        if not line.startswith("#")
    }
    stored = {xxhash.xxh3_64_intdigest(url.encode()) for (url,) in latest(directory, ("url",))} & wanted
    covered = len(stored) / len(wanted) if wanted else 1.0
    return msgspec.structs.replace(report, coverage=round(covered, 4), coverage_by="list")


def read_shares(directory: Path) -> tuple[list[Share], bool]:
    """What each gatherer whose disk is here has done, and whether one of them runs. Damaged frontiers are left out."""
    seen: list[FrontierPeek] = []
    for frontier in _frontiers(directory):
        try:
            seen.append(peek(frontier))
        except DamagedError as error:
            events.warning("frontier-damaged", reason=error, advice=f"gcs crawl -o {directory} makes it anew")
    shares = [msgspec.msgpack.decode(each.share, type=Share) for each in seen if each.share is not None]
    return shares, any(each.is_running for each in seen)


def read_standing(directory: Path) -> tuple[list[Share], str]:
    """What each gatherer has done, and how the crawl stands; where their disks are elsewhere, by the last report."""
    shares, is_running = read_shares(directory)
    if is_running:
        return shares, "running"
    if not shares and (last := reports(directory).get(current_session(directory))):
        return shares_of(last), last.state
    left = not shares or any(share.queued for share in shares)  # without a share, it ended before its first checkpoint
    ended = "done" if not left else "limit" if is_at_limit([share.whole for share in shares]) else "stopped"
    return shares, ended


def shares_of(last: Report) -> list[Share]:
    """The shares of the gatherers, as far as a report tells: what it tells of the team is that of the first."""
    names = Counters.__dataclass_fields__.keys() & set(Report.__struct_fields__) - {"pages"}
    team = {name: getattr(last, name) for name in names}
    shares = [
        Share(each.id, Counters(pages=each.pages, size_bytes=each.bytes), 0, 0, each.pages, 0.0, session=last.session)
        for each in last.per_gatherer
    ]
    for first in shares[:1]:
        counters = Counters(**team, pages=first.counters.pages, size_bytes=first.counters.size_bytes)
        known = {"known_urls": last.known_urls, "queued": last.queued, "explored_fraction": last.explored_fraction}
        shares[0] = msgspec.structs.replace(first, counters=counters, **known)
    return shares


def stored_elsewhere(directory: Path, last: Report | None) -> str:
    """Which gatherers of this report have stored pages that are not here, and what to do; empty if all is here."""
    if last is None or next(directory.glob("state/*/url"), None):  # with a store, all is there
        return ""
    away = [each for each in last.per_gatherer if each.pages and not (directory / "state" / each.id).is_dir()]
    if not away:
        return ""
    pages, names = sum(each.pages for each in away), ", ".join(each.id for each in away[:_NAMED])
    more = f" and {len(away) - _NAMED:,} more" if len(away) > _NAMED else ""
    return (
        f"{pages:,} pages lie on the machines of {names}{more}: copy their directories here, "
        f"then gcs merge {directory} COPY…"
    )


def running_gatherers(directory: Path) -> list[str]:
    """The gatherers that have their disks here and run."""
    return [frontier.parent.name for frontier in _frontiers(directory) if is_locked(frontier)]


def _frontiers(directory: Path) -> list[Path]:
    return sorted(file.parent for file in directory.glob("state/*/frontier/data.mdb"))


def refuse_one_alone(directory: Path) -> None:
    """A gatherer that crawls alone here knows of no team, and the team would fetch the same pages."""
    give_up_at = time.monotonic() + LET_GO_S
    while running_gatherers(directory) == ["g0"]:  # with others beside it, g0 is a ghost of its team, and ends soon
        if time.monotonic() > give_up_at:
            raise UsageError(f"{directory}: another crawl is running here; stop it or choose another -o DIR")
        time.sleep(LET_GO_S / 10)
