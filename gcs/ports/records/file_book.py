"""The book of finished files: which Parquet and WARC files a gatherer has closed, and how long each was then.

So a file that was deleted, cut or changed behind our back is noticed. Parquet files have a hash; WARC files need none,
because each of their records has checksums of its own. A WARC file may grow after it was closed, by a run that goes on
in it. The book is a convenience: without it nothing is lost but the notice.

    state/GATHERER/files    a line for each file: hash of the rest of the line, name, bytes, hash of the file or -
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import xxhash

from gcs.ports.records.layout import store_error
from gcs.ports.system.own_file import own_stream

_CHUNK_BYTES = 1 << 20


class FinishedFile(NamedTuple):
    """A file as it was closed."""

    name: str
    size_bytes: int
    #: xxh3 of its content; "" for a WARC file
    content_hash: str


class FileBook:
    """The book of one gatherer. Filled when a file is closed; a later line of the same name replaces an earlier one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, file: Path) -> None:
        """Add a file that was closed."""
        content_hash = hash_of(file) if file.suffix == ".parquet" else "-"
        line = f"{file.name} {file.stat().st_size} {content_hash}"
        try:
            with own_stream(self._path, "a") as book:
                book.write(f"{_line_hash(line)} {line}\n")
        except OSError as error:
            raise store_error("write", self._path, error) from error

    def files(self) -> dict[str, FinishedFile]:
        """What was noted, by name. A damaged line is as if it were not there."""
        return {entry.name: entry for entry in self._entries()}

    def _entries(self) -> Iterator[FinishedFile]:
        if not self._path.exists():
            return
        for line in self._path.read_text("utf-8", "replace").splitlines():
            line_hash, _, rest = line.partition(" ")
            if line_hash == _line_hash(rest):
                name, size_bytes, content_hash = rest.split(" ")
                yield FinishedFile(name, int(size_bytes), content_hash.strip("-"))


def differs(file: Path, noted: FinishedFile) -> str:
    """How a file differs from what was noted, in words; "" if it does not."""
    if not file.is_file():
        return "is missing"
    size_bytes = file.stat().st_size
    if size_bytes < noted.size_bytes or (noted.content_hash and size_bytes != noted.size_bytes):
        return f"has {size_bytes:,} bytes instead of {noted.size_bytes:,}"
    return "has changed since it was written" if noted.content_hash and hash_of(file) != noted.content_hash else ""


def hash_of(file: Path) -> str:
    """The xxh3 of a file's content."""
    content_hash, buffer = xxhash.xxh3_64(), bytearray(_CHUNK_BYTES)
    with file.open("rb", buffering=0) as source:
        while size := source.readinto(buffer):
            content_hash.update(memoryview(buffer)[:size])
    return content_hash.hexdigest()


def _line_hash(line: str) -> str:
    return xxhash.xxh3_64_hexdigest(line.encode())
