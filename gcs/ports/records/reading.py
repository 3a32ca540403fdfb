"""Reads what a crawl has stored: the records of all its gatherers, from Parquet and from what is still log.

Works on a directory (and on the URLs that its finished files moved to), also while the crawl runs, or on such a
URL alone. A log file and its Parquet form hold the same rows: one of them is read.
It must not change anything.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from gcs.core.page import PageRecord
from gcs.errors import StoreError, UsageError
from gcs.ports.records.appendfile import store_error
from gcs.ports.records.layout import SUMMARIES, WARC, parquet_name, parse_parquet_name
from gcs.ports.records.log import file_name, log_numbers
from gcs.ports.records.log import rows as log_rows
from gcs.ports.records.remote import Remote
from gcs.ports.records.summaries import FIELDS, read_rows

Row = tuple[Any, ...]
#: gatherer and number of a log file, whatever has become of it
_Key = tuple[str, int]
_PARQUET = ("summaries/*.parquet", "state/*/spool/summaries/*.parquet")


def read_records(place: str | Path) -> Iterator[PageRecord]:
    """Every record of a crawl, by gatherer and in the order it was stored."""
    for row in rows(place, FIELDS):
        yield PageRecord(*row)


def rows(
    place: str | Path, fields: Sequence[str], wanted: Callable[[str, int], bool] = lambda _, __: True
) -> Iterator[Row]:
    """The chosen fields of every record, in the order of `read_records`; of the logs wanted, by gatherer and number."""
    remotes = _remotes(place)
    directory = None if is_url(place) else Path(place)
    moved = {name: remote for remote in remotes for name in remote.names(SUMMARIES)}
    keys = _keys(moved) | (_local_keys(directory) if directory else set())
    for key in sorted(key for key in keys if wanted(*key)):
        name = parquet_name(*key)
        if directory and (here := _local_rows(key, directory, fields)):
            yield from here
        else:  # it was there when we looked, or has moved since
            remote = moved.get(name) or next((r for r in remotes if name in r.names(SUMMARIES)), None)
            if remote is None:
                raise StoreError(f"{name} has gone from {place} while it was read: try again")
            with remote.open(SUMMARIES, name) as file:
                yield from read_rows(file, fields)


def warc_files(place: str | Path) -> Iterator[tuple[str, BinaryIO]]:
    """The WARC files of a crawl, each open until the next one is asked for."""
    local: dict[str, Path] = {}
    if not is_url(place):
        for pattern in ("warc/*.warc.gz", "state/*/spool/warc/*.warc.gz"):
            local |= {path.name: path for path in Path(place).glob(pattern)}
    for remote in _remotes(place):
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


def _remotes(place: str | Path) -> list[Remote]:
    """The URLs that a crawl's finished files are at: this one, or those that its directory names."""
    if is_url(place):
        return [Remote(str(place))]
    urls = {path.read_text().strip() for path in _crawl(Path(place)).glob("state/*/url")}
    return [Remote(url) for url in sorted(urls)]


def _local_keys(directory: Path) -> set[_Key]:
    names = [path.name for pattern in _PARQUET for path in directory.glob(pattern)]
    logs = {(log.parent.name, number) for log in directory.glob("state/*/log") for number in log_numbers(log)}
    return logs | _keys(names)


def _keys(names: Iterable[str]) -> set[_Key]:
    return {key for name in names if (key := parse_parquet_name(name))}


def _local_rows(key: _Key, directory: Path, fields: Sequence[str]) -> Iterator[Row] | None:
    """The rows of one log file, looked for in the order in which it moves on; None where it is not here any more."""
    log = directory / "state" / key[0] / "log" / file_name(key[1])
    if log.exists():
        return log_rows(log, fields)
    for pattern in _PARQUET:
        for path in directory.glob(pattern.replace("*.parquet", parquet_name(*key))):
            return read_rows(path, fields)
    return None


def _crawl(directory: Path) -> Path:
    if not directory.is_dir():
        raise UsageError(f"there is no directory {directory}")
    if not any((directory / name).is_dir() for name in (SUMMARIES, WARC, "state")):
        raise UsageError(f"{directory} holds no crawl: it has neither summaries/ nor warc/ nor state/")
    return directory
