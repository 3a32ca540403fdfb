"""Where the files of a gatherer's record store lie.

DIR/warc/NAME-GATHERER-yyyymmddhhmmss-SERIAL.warc.gz
DIR/summaries/GATHERER-NNNNNN.parquet            made from the closed log file NNNNNN
DIR/state/GATHERER/log/NNNNNN.log
DIR/state/GATHERER/spool/{warc,summaries}/       instead of the first two, where files move to a URL
"""

import re
from dataclasses import dataclass
from pathlib import Path

from gcs.errors import UsageError
from gcs.ports.records.appendfile import store_error

WARC, SUMMARIES = "warc", "summaries"
#: what can be part of a file name and of a key of the whiteboard
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Layout:
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
        """The record log."""
        return self.state / "log"

    @property
    def warc(self) -> Path:
        """Where WARC files are written."""
        return (self.state / "spool" if self.url else self.directory) / WARC

    @property
    def summaries(self) -> Path:
        """Where Parquet files are written."""
        return (self.state / "spool" if self.url else self.directory) / SUMMARIES

    @property
    def url_file(self) -> Path:
        """Says where the finished files are, so that a reader of the directory finds them."""
        return self.state / "url"

    def make(self) -> None:
        """Make the folders that are not there yet."""
        path = self.directory
        try:
            for path in (self.log, self.warc, self.summaries):
                path.mkdir(parents=True, exist_ok=True)
            if self.url:
                path = self.url_file
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
