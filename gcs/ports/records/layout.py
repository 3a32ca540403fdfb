"""What a user may choose about the record store, and where the files of a gatherer's store lie.

DIR/warc/NAME-GATHERER-yyyymmddhhmmss-SERIAL.warc.gz
DIR/summaries/GATHERER-NNNNNN.parquet            made from the closed log file NNNNNN
DIR/state/GATHERER/log/NNNNNN.log
DIR/state/GATHERER/files                         which finished files there are, with their sizes
DIR/state/GATHERER/spool/{warc,summaries}/       instead of the first two, where files move to a URL

FILE.cut is a damaged file as it was found; nothing reads it.

Also how names in these folders become durable, and what the user is told when the disk refuses.
"""

import errno
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from gcs.errors import DiskFullError, SettingsError, StoreError, UsageError
from gcs.ports.system.own_file import own_stream

WARC, SUMMARIES = "warc", "summaries"
#: what can be part of a file name and of a key of the whiteboard
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

sync_data = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Sizes are where a file is closed, not limits: a file ends with the flush that passes its size."""

    #: archive every HTTP exchange in warc/*.warc.gz
    warc: bool = True
    #: a WARC file is closed at this size
    warc_bytes: int = 1 << 30
    #: compression of the WARC, 0 (fastest) to 3 (smallest), of Intel's ISA-L
    warc_level: int = 1
    #: payloads remembered for revisit records; 0 stores every payload in full
    warc_digests: int = 16_384
    #: turn closed log files into summaries/*.parquet
    summaries: bool = True
    #: a log file is closed at this many page records …
    log_records: int = 5_000
    #: … or at this size
    log_bytes: int = 64 << 20
    #: keep a log file when its Parquet file is in place
    keep_logs: bool = False
    #: where finished files are moved to (s3://bucket/folder, any fsspec URL); "" leaves them in the crawl directory
    url: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.warc_level <= 3:
            raise SettingsError(f"warc_level is {self.warc_level}: it must be 0, 1, 2 or 3")
        for name in ("warc_bytes", "log_records", "log_bytes"):
            if getattr(self, name) <= 0:
                raise SettingsError(f"{name} is {getattr(self, name)}: it must be greater than 0")


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """The paths of one gatherer in one crawl directory."""

    directory: Path
    gatherer: str
    #: where finished files go, "" for the crawl directory itself
    url: str = ""

    @property
    def state(self) -> Path:
        """What is the gatherer's own: lock, log, spool."""
        return self.directory / "state" / self.gatherer

    @property
    def log(self) -> Path:
        return self.state / "log"

    @property
    def warc(self) -> Path:
        return (self.state / "spool" if self.url else self.directory) / WARC

    @property
    def summaries(self) -> Path:
        return (self.state / "spool" if self.url else self.directory) / SUMMARIES

    def make(self) -> None:
        path = self.directory
        try:
            for path in (self.log, self.warc, self.summaries):
                path.mkdir(parents=True, exist_ok=True)
            if self.url:
                path = self.state / "url"  # tells a reader of the directory where the finished files are
                with own_stream(path, "w") as file:
                    file.write(self.url)
        except OSError as error:
            raise store_error("make", path, error) from error

    @property
    def book(self) -> Path:
        """The list of finished files: see `file_book`."""
        return self.state / "files"

    def parquet(self, number: int) -> Path:
        """The Parquet form of a log file."""
        return self.summaries / parquet_name(self.gatherer, number)


def check_names(*names: str) -> None:
    """Gatherers and crawls become parts of file names, and folders."""
    for name in names:
        if not NAME.fullmatch(name):
            raise UsageError(f"{name!r} cannot be part of a file name: use letters, digits, '.', '_' and '-'")


def parquet_name(gatherer: str, number: int) -> str:
    """g1-000001.parquet"""
    return f"{gatherer}-{number:06d}.parquet"


def parse_parquet_name(name: str) -> tuple[str, int] | None:
    """The gatherer and the log number in the name of a Parquet file; None for another name."""
    gatherer, _, number = name.removesuffix(".parquet").rpartition("-")
    return (gatherer, int(number)) if name.endswith(".parquet") and gatherer and number.isdecimal() else None


def warc_serial(file_name: str) -> int:
    """The serial number in the name of a WARC file, 0 for ""."""
    return int(file_name.removesuffix(".warc.gz").rpartition("-")[2]) if file_name else 0


def warc_paths(directory: Path, prefix: str) -> list[Path]:
    """The WARC files that were written under this prefix, by serial number."""
    pattern = re.compile(re.escape(prefix) + r"-\d{14}-\d{5,}\.warc\.gz")
    return sorted((p for p in directory.iterdir() if pattern.fullmatch(p.name)), key=lambda p: warc_serial(p.name))


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable: created, renamed and removed files."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise store_error("write", path, error) from error


def keep_copy(path: Path) -> Path:
    """Copy a file that is about to be cut to FILE.cut (or .cut2, …)."""
    kept = _free_name(path)
    shutil.copyfile(path, kept)
    return kept


def set_aside(path: Path) -> Path:
    """Rename a damaged file to FILE.cut (or .cut2, …): nobody reads it any more, and nothing of it is lost."""
    return path.rename(_free_name(path))


def _free_name(path: Path) -> Path:
    number = 1
    while (kept := path.with_name(f"{path.name}.cut{number if number > 1 else ''}")).exists():
        number += 1
    return kept


def store_error(verb: str, path: Path, error: OSError) -> StoreError:
    """One line for the user: what could not be done, where, and why."""
    kind = DiskFullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else StoreError
    return kind(f"cannot {verb} {path}: {error.strerror or error}")
