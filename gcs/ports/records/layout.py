"""What a user may choose about the record store, and where the files of a gatherer's store lie.

DIR/warc/NAME-GATHERER-yyyymmddhhmmss-SERIAL.warc.gz
DIR/summaries/GATHERER-NNNNNN.parquet            made from the closed log file NNNNNN
DIR/state/GATHERER/log/NNNNNN.log
DIR/state/GATHERER/spool/{warc,summaries}/       instead of the first two, where files move to a URL
"""

import re
from dataclasses import dataclass
from pathlib import Path

from gcs.errors import SettingsError, UsageError
from gcs.ports.records.append_file import store_error

WARC, SUMMARIES = "warc", "summaries"
#: what can be part of a file name and of a key of the whiteboard
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


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
                path.write_text(self.url)
        except OSError as error:
            raise store_error("make", path, error) from error

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
