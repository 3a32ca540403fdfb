"""Reads what a crawl has stored: the records of all its gatherers, from Parquet and from what is still log.

Works on a directory, also while the crawl runs, and on the URL that finished files moved to (of which it sees
the finished files only). A log file and its Parquet form hold the same rows: the Parquet file is taken.
It must not change anything.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

from gcs.core.page import PageRecord
from gcs.errors import UsageError
from gcs.ports.records.appendfile import store_error
from gcs.ports.records.layout import SUMMARIES, WARC, parquet_name, parse_parquet_name
from gcs.ports.records.log import file_name, log_numbers, pages
from gcs.ports.records.remote import Remote
from gcs.ports.records.summaries import FIELDS, read_rows

Row = tuple[Any, ...]
#: reads the fields asked for from one file
_Source = Callable[[Sequence[str]], Iterator[Row]]


def read_records(place: str | Path) -> Iterator[PageRecord]:
    """Every record of a crawl, by gatherer and in the order it was stored."""
    for row in rows(place, FIELDS):
        yield PageRecord(*row)


def rows(place: str | Path, fields: Sequence[str]) -> Iterator[Row]:
    """The chosen fields of every record, in the order of `read_records`."""
    sources = _remote_sources(Remote(str(place))) if is_url(place) else _local_sources(Path(place))
    for _, source in sorted(sources.items()):
        yield from source(fields)


def warc_files(place: str | Path) -> Iterator[tuple[str, BinaryIO]]:
    """The WARC files of a crawl by name, each open until the next one is asked for."""
    if is_url(place):
        remote = Remote(str(place))
        for name in remote.names(WARC):
            if name.endswith(".warc.gz"):
                with remote.open(WARC, name) as file:
                    yield name, file
        return
    directory = _crawl(Path(place))
    found = [*directory.glob("warc/*.warc.gz"), *directory.glob("state/*/spool/warc/*.warc.gz")]
    for path in sorted(found, key=attrgetter("name")):
        try:
            with path.open("rb") as file:
                yield path.name, file
        except OSError as error:
            raise store_error("read", path, error) from error


def is_url(place: str | Path) -> bool:
    """Whether this is a URL, not a directory."""
    return "://" in str(place)


def _local_sources(directory: Path) -> dict[tuple[str, int], _Source]:
    _crawl(directory)
    sources: dict[tuple[str, int], _Source] = {}
    for log in directory.glob("state/*/log"):
        gatherer = log.parent.name
        for number in log_numbers(log):
            sources[gatherer, number] = partial(_log_or_parquet, directory, gatherer, number)
    for path in [*directory.glob("summaries/*.parquet"), *directory.glob("state/*/spool/summaries/*.parquet")]:
        if key := parse_parquet_name(path.name):
            sources[key] = partial(read_rows, path)
    return sources


def _remote_sources(remote: Remote) -> dict[tuple[str, int], _Source]:
    keys = (parse_parquet_name(name) for name in remote.names(SUMMARIES))
    return {key: partial(_remote_rows, remote, parquet_name(*key)) for key in keys if key}


def _log_or_parquet(directory: Path, gatherer: str, number: int, fields: Sequence[str]) -> Iterator[Row]:
    log = directory / "state" / gatherer / "log" / file_name(number)
    if log.exists():
        values = attrgetter(*fields) if len(fields) > 1 else lambda page: (getattr(page, fields[0]),)
        yield from map(values, pages(log))
    else:  # converted since we looked
        yield from read_rows(directory / SUMMARIES / parquet_name(gatherer, number), fields)


def _remote_rows(remote: Remote, name: str, fields: Sequence[str]) -> Iterator[Row]:
    with remote.open(SUMMARIES, name) as file:
        yield from read_rows(file, fields)


def _crawl(directory: Path) -> Path:
    if not directory.is_dir():
        raise UsageError(f"there is no directory {directory}")
    if not any((directory / name).is_dir() for name in (SUMMARIES, WARC, "state")):
        raise UsageError(f"{directory} holds no crawl: it has neither summaries/ nor warc/ nor state/")
    return directory
