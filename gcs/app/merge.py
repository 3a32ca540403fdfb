"""Brings together what the gatherers of a team have stored on several machines: `gcs merge`.

Each gatherer's files have its name in theirs, so directories of one crawl go into one another. Nothing is overwritten:
a file of a gatherer that is in both must be the same. Of seeds, settings and reports, those that are there stay.

Invariant: nothing is copied before all of it was looked at; each file appears whole, and a merge may be done again.
"""

import os
import shutil
from collections.abc import Iterator
from filecmp import cmp
from pathlib import Path

from gcs.app.crawl_dir import is_crawl, running_gatherers
from gcs.app.crawl_input import SavedCrawl
from gcs.errors import UsageError
from gcs.ports.records.layout import NAME, SUMMARIES, WARC, store_error
from gcs.ports.system.own_file import open_own

#: of the folder `state`, what belongs to the process that ran there, and not to the records
_OWN = frozenset({"space", "control"})
#: files of a gatherer that are locks
_LOCKS = frozenset({"lock", "lock.mdb", "records.lock"})


def merge(into: Path, parts: list[Path]) -> tuple[int, int]:
    """Copy what the parts hold into a directory; returns how many files and bytes were copied."""
    for part in parts:
        if part.resolve() == into.resolve():
            raise UsageError(f"{part}: give other directories than the one that they are merged into")
        if not (is_crawl(part) or (part / SUMMARIES).is_dir()):
            raise UsageError(f"{part}: there is no crawl here")
    for directory in (into, *parts):
        if running := running_gatherers(directory):
            raise UsageError(f"{directory}: {', '.join(running)} runs here; merge when the crawl has ended")
    names = {name for directory in (into, *parts) if (name := _name_of(directory))}
    if len(names) > 1:
        raise UsageError(f"these are parts of different crawls: {', '.join(sorted(names))}")
    wanted: dict[Path, Path] = {}
    for part in parts:
        for source in _files(part):
            place = source.relative_to(part)
            is_shared = place.parts[0] == "sessions" or (place.parts[0] == "state" and len(place.parts) == 2)
            for other in (into / place, wanted.get(place)):
                if other is not None and other.exists() and not is_shared and not cmp(source, other, shallow=False):
                    raise UsageError(
                        f"{place} is in {part} and in {into}, and differs: these are not parts of one crawl"
                    )
            if not (into / place).exists():
                wanted.setdefault(place, source)
    size = 0
    for place, source in wanted.items():
        size += _copy(source, into / place)
    return len(wanted), size


def _name_of(directory: Path) -> str:
    return str(SavedCrawl.read(directory).settings.get("crawl.name", ""))


def _files(part: Path) -> Iterator[Path]:
    """All files of the records and of the gatherers' disks; and the seeds and settings, where there are any."""
    for folder in (WARC, SUMMARIES, "sessions"):
        yield from sorted(path for path in (part / folder).glob("*") if path.is_file() and not path.is_symlink())
    for path in sorted((part / "state").glob("*")):
        if path.is_file() and not path.is_symlink() and path.name != "control":
            yield path
        elif path.is_dir() and path.name not in _OWN and NAME.fullmatch(path.name):
            inside = (each for each in sorted(path.rglob("*")) if each.is_file() and not each.is_symlink())
            yield from (each for each in inside if each.name not in _LOCKS)


def _copy(source: Path, target: Path) -> int:
    partial = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        with source.open("rb") as old, os.fdopen(open_own(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as new:
            shutil.copyfileobj(old, new, 1 << 20)
            new.flush()
            os.fsync(new.fileno())
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise store_error("write", target, error) from error
    return target.stat().st_size
