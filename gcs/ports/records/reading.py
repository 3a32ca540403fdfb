"""Reads what a crawl has stored: the records of all its gatherers, from Parquet and from what is still log.

Works on a directory (and on the URLs that its finished files moved to), also while the crawl runs, or on such a
URL alone. A log file and its Parquet form hold the same rows: one of them is read. `distinct` counts the pages of a
session over all gatherers, `latest` finds the one record that tells what each page holds now.
It must not change anything.
"""

import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import xxhash

from gcs.core.page.values import PageRecord, tells
from gcs.core.polite.politeness import RETRY_STATUSES
from gcs.errors import DamagedError, UsageError
from gcs.events import Events
from gcs.ports.records.file_book import FileBook, FinishedFile, differs
from gcs.ports.records.finished_files import Remote
from gcs.ports.records.layout import SUMMARIES, WARC, StoreLayout, parquet_name, parse_parquet_name, store_error
from gcs.ports.records.parquet import FIELDS, read_rows
from gcs.ports.records.record_log import file_name, log_numbers
from gcs.ports.records.record_log import rows as log_rows

Row = tuple[Any, ...]
OnDamage = Callable[[DamagedError], None]
#: gatherer and number of a log file, whatever has become of it
_Key = tuple[str, int]
events = Events("records")
_digest = xxhash.xxh3_64_intdigest
#: hashes that `distinct` holds at a time: 128 MB
_MOST_AT_ONCE = 1 << 24
#: hashes for which a set is no larger than that
_FEW = 1 << 20
_DISTINCT_FIELDS = ("url", "gatherer", "session", "status", "failure", "source")
#: records of which `newest` holds the hashes at a time: 130 MB, and 200 MB more if all of them are of later sessions
_MOST_LATEST = 1 << 21
_NEWEST_FIELDS = ("url", "session", "status", "failure", "held_at_us")
_PARQUET = ("summaries/*.parquet", "state/*/spool/summaries/*.parquet")


def fail(error: DamagedError) -> None:
    """What a reader does about a damaged Parquet file that must not go on without it."""
    raise error


def warn(error: DamagedError) -> None:
    """What a reader does about a damaged Parquet file that can go on without it."""
    events.warning("records-damaged", reason=error)


def read_records(place: str | Path, on_damage: OnDamage = fail) -> Iterator[PageRecord]:
    """Every record of a crawl, by gatherer and in the order it was stored."""
    for row in rows(place, FIELDS, on_damage=on_damage):
        yield PageRecord(**dict(zip(FIELDS, row)))


def rows(
    place: str | Path,
    fields: Sequence[str],
    wanted: Callable[[str, int], bool] = lambda _, __: True,
    on_damage: OnDamage = fail,
) -> Iterator[Row]:
    """The chosen fields of every record, in the order of `read_records`; of the logs wanted, by gatherer and number.

    A file that is not as it was written is left out, if `on_damage` returns.
    """
    remotes = crawl_remotes(place)
    directory = None if is_url(place) else Path(place)
    moved = {name: remote for remote in remotes for name in remote.names(SUMMARIES)}
    keys = _keys(moved) | (_local_keys(directory) if directory else set())
    noted: dict[str, FinishedFile] = {}
    if directory:
        for gatherer in {gatherer for gatherer, _ in keys}:
            noted |= FileBook(StoreLayout(directory, gatherer).book).files()
    for key in sorted(key for key in keys if wanted(*key)):
        name = parquet_name(*key)
        if directory and (path := _local_file(key, directory)):
            if name in noted and path.name == name and (how := differs(path, noted[name])):
                on_damage(DamagedError(f"{path} {how}; see gcs verify {directory}"))
                continue
            yield from log_rows(path, fields) if path.suffix == ".log" else read_rows(path, fields)
        else:  # it was there when we looked, or has moved since
            remote = moved.get(name) or next((r for r in remotes if name in r.names(SUMMARIES)), None)
            if remote is None:
                on_damage(DamagedError(f"{name} has gone from {place} while it was read: try again"))
                continue
            with remote.open(SUMMARIES, name) as file:
                yield from read_rows(file, fields)


def log_keys(place: str | Path) -> list[_Key]:
    """The log files of a crawl, whatever has become of them: gatherer and number, sorted."""
    names = {name for remote in crawl_remotes(place) for name in remote.names(SUMMARIES)}
    return sorted(_keys(names) | (set() if is_url(place) else _local_keys(Path(place))))


def log_size(place: str | Path, key: _Key) -> int:
    """The bytes of what has become of a log file; -1 if it is not in a directory here."""
    path = None if is_url(place) else _local_file(key, Path(place))
    try:
        return path.stat().st_size if path else -1
    except OSError:
        return -1


def links_to(place: str | Path, url: str, seconds: float, most: int) -> tuple[list[str], bool]:
    """Pages that link to a URL, up to so many; and whether all records could be read in about so long."""
    found: dict[str, None] = {}
    give_up_at = time.monotonic() + seconds
    for number, (page, outlinks) in enumerate(rows(place, ("url", "outlinks"), on_damage=warn)):
        if url in outlinks:
            found[page] = None
        if len(found) >= most or (number % 100 == 0 and time.monotonic() > give_up_at):
            return list(found), False
    return list(found), True


def warc_files(place: str | Path) -> Iterator[tuple[str, BinaryIO]]:
    """The WARC files of a crawl, each open until the next one is asked for."""
    local: dict[str, Path] = {}
    if not is_url(place):
        for pattern in ("warc/*.warc.gz", "state/*/spool/warc/*.warc.gz"):
            local |= {path.name: path for path in Path(place).glob(pattern)}
    for remote in crawl_remotes(place):
        for name in remote.names(WARC):
            if name.endswith(".warc.gz") and name not in local:  # here too: it is on its way
                with remote.open(WARC, name) as file:
                    yield name, file
    for name, path in sorted(local.items()):
        try:
            with path.open("rb") as file:
                yield name, file
        except OSError as error:
            raise store_error("read", path, error) from error


def is_url(place: str | Path) -> bool:
    """Whether this is a URL, not a directory."""
    return "://" in str(place)


def crawl_remotes(place: str | Path) -> list[Remote]:
    """The URLs that a crawl's finished files are at: this one, or those that its directory names."""
    if is_url(place):
        return [Remote(str(place))]
    urls = {path.read_text().strip() for path in check_crawl(Path(place)).glob("state/*/url")}
    return [Remote(url) for url in sorted(urls)]


def _local_keys(directory: Path) -> set[_Key]:
    names = [path.name for pattern in _PARQUET for path in directory.glob(pattern)]
    logs = {(log.parent.name, number) for log in directory.glob("state/*/log") for number in log_numbers(log)}
    return logs | _keys(names)


def _keys(names: Iterable[str]) -> set[_Key]:
    return {key for name in names if (key := parse_parquet_name(name))}


def _local_file(key: _Key, directory: Path) -> Path | None:
    """Where the rows of one log file are, looked for in the order in which it moves on; None if not here any more."""
    log = directory / "state" / key[0] / "log" / file_name(key[1])
    if log.exists():
        return log
    places = (directory.glob(pattern.replace("*.parquet", parquet_name(*key))) for pattern in _PARQUET)
    return next(chain.from_iterable(places), None)


def check_crawl(directory: Path) -> Path:
    if not directory.is_dir():
        raise UsageError(f"there is no directory {directory}")
    if not any((directory / name).is_dir() for name in (SUMMARIES, WARC, "state")):
        raise UsageError(f"{directory} holds no crawl: it has neither summaries/ nor warc/ nor state/")
    return directory


@dataclass(slots=True)
class Distinct:
    """Pages that were stored in a session: how many different ones, and how many records by gatherer."""

    unique: int = 0
    stored: Counter[str] = field(default_factory=Counter)


def distinct(
    place: str | Path, session: int, pages: int, most: int = _MOST_AT_ONCE, on_damage: OnDamage = fail
) -> Distinct:
    """Count the pages of a session, of which about so many are expected."""
    passes = -(-max(pages, 1) // most)
    found = Distinct()
    for part in range(passes):
        hashes = array("Q")
        for url, gatherer, number, status, failure, source in rows(place, _DISTINCT_FIELDS, on_damage=on_damage):
            if number != session or not 200 <= status < 300 or failure or source:
                continue
            if (value := _digest(url.encode())) % passes == part:
                hashes.append(value)
                found.stored[gatherer] += 1
        found.unique += _unique(hashes)
    return found


def _unique(hashes: "array[int]") -> int:
    if len(hashes) <= _FEW:
        return len(set(hashes))
    import numpy as np  # slow to load, and not needed for what a set holds

    return len(np.unique(np.frombuffer(hashes, np.uint64)))


def latest(place: str | Path, fields: Sequence[str], most: int = _MOST_LATEST) -> Iterator[Row]:
    """The chosen fields of each page as it was found last; of pages that are there. In the order of `rows`.

    Of a crawl with more than `most` records, a share of the URLs at a time, so that memory is bounded.
    """
    for status, failure, source, *chosen in newest(place, ("status", "failure", "source", *fields), most):
        if 200 <= status < 300 and not failure and not source:
            yield tuple(chosen)


def newest(place: str | Path, fields: Sequence[str], most: int = _MOST_LATEST) -> Iterator[Row]:
    """As `latest`, of every URL: from the record that tells what was found there last, page, redirect or failure."""
    share, shares = 0, 1
    while share < shares:
        told, silent, shares = _told(place, share, shares, most)
        seen: set[int] = set()  # several gatherers may have stored it
        for url, session, status, failure, held_at_us, *chosen in rows(place, (*_NEWEST_FIELDS, *fields)):
            key = _digest(url.encode())
            if key % shares != share or key in seen or not tells(status, failure, held_at_us):
                continue
            if session == told.get(key, 1) or (key not in told and session == silent.get(key)):
                seen.add(key)
                yield tuple(chosen)
        share += 1


def _told(place: str | Path, share: int, shares: int, most: int) -> tuple[dict[int, int], dict[int, int], int]:
    """Of the URLs of a share: the session that tells of them, where that is not the first. And the number of shares.

    Apart from these: the later session in which the server of a URL could not answer.
    """
    told: dict[int, int] = {}
    silent: dict[int, int] = {}
    for number, (url, session, status, failure, held_at_us) in enumerate(rows(place, _NEWEST_FIELDS), 1):
        if share == 0 and number > most * shares:  # in later shares, records that came meanwhile make no more of them
            shares *= 2
            told = {key: last for key, last in told.items() if key % shares == share}
            silent = {key: last for key, last in silent.items() if key % shares == share}
        if session == 1 or not tells(status, failure, held_at_us):
            continue
        # a server that cannot answer tells nothing of its page, even if it fails so long that the page is forgotten
        found = silent if failure and (status == 0 or status in RETRY_STATUSES) else told
        key = _digest(url.encode())
        if key % shares == share and session > found.get(key, 1):
            found[key] = session
    return told, silent, shares
