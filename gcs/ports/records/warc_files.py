"""The WARC files of one gatherer: NAME-GATHERER-yyyymmddhhmmss-SERIAL.warc.gz, one growing at a time.

An exchange becomes a request record and, behind it, a response record, or a revisit record where the
payload is stored already. The place that is handed back is that of the latter, so the end of the place is
the end of everything that belongs to the exchange.

Invariant: a file begins with its warcinfo record and holds whole records only. It must not decide what is
kept after a crash: that is `recovery`, by the log.
"""

import re
import time
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from gcs import __version__
from gcs.core.page.values import Response
from gcs.ports.records import warc
from gcs.ports.records.append_file import AppendFile, sync_directory
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.warc import Original, RecentDigests

_SOFTWARE = {
    "software": f"GCS/{__version__}",
    "format": "WARC File Format 1.1",
    "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
}


class WarcPosition(NamedTuple):
    """Where the response (or revisit) record of an exchange lies."""

    file: str
    offset: int
    size_bytes: int


class HttpExchange(NamedTuple):
    """The records of one exchange, made but not yet appended, and where they will lie."""

    data: bytes
    place: WarcPosition


class WarcFiles:
    """Writes exchanges; opens a file when the first one comes and another when one is closed."""

    def __init__(self, directory: Path, prefix: str, settings: StoreSettings, info: dict[str, str]) -> None:
        self._directory, self._prefix = directory, prefix
        self._level, self._limit_bytes = settings.warc_level, settings.warc_bytes
        self._digests = RecentDigests(settings.warc_digests) if settings.warc_digests else None
        self._info = info
        #: of the newest file
        self.serial = 0
        #: name and length of the file closed last
        self._closed = ("", 0)
        self._file: AppendFile | None = None
        self._new_name = False

    def resume(self, file_name: str, end: int, serial: int) -> None:
        """Go on behind the last exchange that the log names, where its file is still here as it was left."""
        self.serial, self._closed = serial, (file_name, end)
        path = self._directory / file_name
        if file_name and end < self._limit_bytes and path.is_file() and path.stat().st_size == end:
            self._file = AppendFile(path)

    def prepare(self, response: Response, digest: str, known: Original | None = None) -> HttpExchange:
        """Make the records of an exchange. `known` and `digest` name the copy that it confirms, if one is known."""
        file = self._file or self._open()
        response_id = warc.record_id()
        url = response.request.url
        original = known
        if known is None and response.status == HTTPStatus.NOT_MODIFIED:
            original = Original(url, 0.0)
        elif known is None and self._digests and response.body and response.http_version:
            original = self._digests.get(digest)
        asked = warc.request(response, response_id, self._level) if response.request_head else b""
        if original:
            answer = warc.revisit(response, response_id, digest, original, self._level)
        else:
            answer = warc.response(response, response_id, digest, self._level)
            if self._digests and response.body:
                self._digests.put(digest, Original(url, response.started_at))
        return HttpExchange(asked + answer, WarcPosition(file.path.name, file.end + len(asked), len(answer)))

    def append(self, exchange: HttpExchange) -> None:
        """Take in what `prepare` made, before anything else is prepared."""
        assert self._file is not None
        self._file.append(exchange.data)

    @property
    def full(self) -> bool:
        """Whether the growing file is to be closed."""
        return self._file is not None and self._file.end >= self._limit_bytes

    @property
    def last(self) -> tuple[str, int]:
        """Name and length of the growing file, or of the one closed last."""
        return (self._file.path.name, self._file.end) if self._file else self._closed

    @property
    def pending_bytes(self) -> int:
        return self._file.pending_bytes if self._file else 0

    @property
    def file_name(self) -> str:
        """The growing file, or "" where there is none."""
        return self._file.path.name if self._file else ""

    def flush(self) -> None:
        if self._file:
            self._file.flush()

    def sync(self) -> None:
        """Make what was appended, and the name of its file, durable."""
        if self._file:
            self._file.sync()
            if self._new_name:
                sync_directory(self._directory)
                self._new_name = False

    def close(self) -> Path | None:
        """Close the growing file and name it. The next exchange opens another."""
        if self._file is None:
            return None
        self._closed = self.last
        self._file.close()
        path, self._file = self._file.path, None
        return path

    def _open(self) -> AppendFile:
        at = time.time()
        stamp = datetime.fromtimestamp(at, UTC).strftime("%Y%m%d%H%M%S")
        name = f"{self._prefix}-{stamp}-{self.serial + 1:05d}.warc.gz"
        file = AppendFile(self._directory / name, exclusive=True)
        file.append(warc.warcinfo(name, at, _SOFTWARE | self._info, self._level))
        self._file, self._new_name = file, True
        self.serial += 1
        return file


def serial_of(file_name: str) -> int:
    """The serial number in the name of a WARC file, 0 for ""."""
    return int(file_name.removesuffix(".warc.gz").rpartition("-")[2]) if file_name else 0


def files_of(directory: Path, prefix: str) -> list[Path]:
    """The WARC files that were written under this prefix, by serial number."""
    pattern = re.compile(re.escape(prefix) + r"-\d{14}-\d{5,}\.warc\.gz")
    return sorted((p for p in directory.iterdir() if pattern.fullmatch(p.name)), key=lambda p: serial_of(p.name))
