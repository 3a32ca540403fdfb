"""WACZ 1.1.1: a crawl as one file that ReplayWeb.page opens: a ZIP of the WARC files, their index and a list of pages.

    archive/*.warc.gz                        as they are, stored without compression, so that a reader can seek in them
    indexes/index.cdx.gz, index.idx          the sorted CDXJ lines in gzip members of 3,000, and the first line of each
    pages/pages.jsonl                        the pages, each session's
    datapackage.json, datapackage-digest.json    all files with their SHA-256

Invariant: memory is bounded; the index names just what the file holds, also while the crawl goes on.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Protocol
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from gcs.core.page.recognise import Format, recognise
from gcs.ports.records import cdxj
from gcs.ports.records.reading import rows, warc_files

VERSION = "1.1.1"
#: lines in a gzip member of the index
_BLOCK_LINES = 3_000
_COPY_BYTES = 1 << 20
_PAGE_FIELDS = ("url", "title", "fetched_at", "status", "failure", "source", "content_type")


class Writable(Protocol):
    """What a part of the file is written to."""

    def write(self, data: bytes, /) -> int: ...


@dataclass(slots=True)
class _Part:
    """A file of the package while it is written: counts and hashes what passes."""

    to: Writable
    size_bytes: int = 0
    digest: Any = field(default_factory=sha256)

    def write(self, data: bytes) -> int:
        self.size_bytes += len(data)
        self.digest.update(data)
        return self.to.write(data)


class WaczFile:
    """A WACZ file that grows part by part."""

    def __init__(self, file: BinaryIO, created: datetime) -> None:
        self._zip, self._created = ZipFile(file, "w"), created
        self._resources: list[dict[str, object]] = []

    def add(self, path: str, pieces: Iterable[bytes], compressed: bool = False) -> None:
        """Add a file whose size is not known: it is made beside, first."""
        with TemporaryFile() as made:
            made.writelines(pieces)
            size_bytes = made.tell()
            made.seek(0)
            self.add_known(path, iter(lambda: made.read(_COPY_BYTES), b""), size_bytes, compressed)

    def add_known(self, path: str, pieces: Iterable[bytes], size_bytes: int, compressed: bool = False) -> None:
        at = self._created
        info = ZipInfo(path, (at.year, at.month, at.day, at.hour, at.minute, at.second))
        info.compress_type = ZIP_DEFLATED if compressed else ZIP_STORED
        info.file_size = size_bytes  # so that small files have no ZIP64 header, which ReplayWeb.page cannot read
        with self._zip.open(info, "w") as entry:
            part = _Part(entry)
            for piece in pieces:
                part.write(piece)
        digest = part.digest.hexdigest()
        name = path.rpartition("/")[2]
        self._resources.append({"name": name, "path": path, "hash": f"sha256:{digest}", "bytes": part.size_bytes})

    def finish(self, described: dict[str, str]) -> None:
        package = {"profile": "data-package", "wacz_version": VERSION, "created": f"{self._created.isoformat()}Z"}
        data = json.dumps(package | described | {"resources": self._resources}, indent=1).encode()
        self._zip.writestr("datapackage.json", data)
        digest = {"path": "datapackage.json", "hash": f"sha256:{sha256(data).hexdigest()}"}
        self._zip.writestr("datapackage-digest.json", json.dumps(digest))
        self._zip.close()


def write_wacz(place: str, file: BinaryIO, software: str, title: str) -> int:
    """Write what a crawl has stored until now; returns the number of pages."""
    wacz = WaczFile(file, datetime.now(UTC).replace(microsecond=0, tzinfo=None))
    ends: dict[str, int] = {}
    blocks: list[bytes] = [b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n']
    wacz.add("indexes/index.cdx.gz", _index(place, ends, blocks))
    wacz.add("indexes/index.idx", blocks, compressed=True)
    for name, warc in warc_files(place):
        if ends.get(name):
            wacz.add_known(f"archive/{name}", _copied(warc, ends[name]), ends[name])
    listed = _Pages(place)
    wacz.add("pages/pages.jsonl", listed.lines(), compressed=True)
    wacz.finish({"software": software, "title": title, "mainPageURL": listed.first})
    return listed.count


def _index(place: str, ends: dict[str, int], blocks: list[bytes]) -> Iterator[bytes]:
    """The gzip members of the index; fills in where the last whole record of each file ends, and the blocks."""
    lines = cdxj.merge(line for name, warc in warc_files(place) for line in cdxj.index(warc, name, ends))
    offset = 0
    while block := list(islice(lines, _BLOCK_LINES)):
        packed = gzip.compress(b"".join(block), mtime=0)
        where = {"offset": offset, "length": len(packed), "digest": f"sha256:{sha256(packed).hexdigest()}"}
        key = b" ".join(block[0].split(b" ", 2)[:2])
        blocks.append(key + b" " + json.dumps(where | {"filename": "index.cdx.gz"}).encode() + b"\n")
        offset += len(packed)
        yield packed


def _copied(warc: BinaryIO, end: int) -> Iterator[bytes]:
    warc.seek(0)
    while end and (data := warc.read(min(end, _COPY_BYTES))):
        end -= len(data)
        yield data


class _Pages:
    """The list of the pages that a person would look at."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.count, self.first = 0, ""

    def lines(self) -> Iterator[bytes]:
        yield b'{"format": "json-pages-1.0", "id": "pages", "title": "Pages"}\n'
        for url, title, fetched_at, status, failure, source, content_type in rows(self._place, _PAGE_FIELDS):
            is_page = 200 <= status < 300 and not failure and not source
            if is_page and recognise(content_type, b"") is Format.HTML:
                self.count, self.first = self.count + 1, self.first or url
                at = datetime.fromtimestamp(fetched_at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
                page = {"id": str(self.count), "url": url, "ts": at, "title": title or url}
                yield json.dumps(page).encode() + b"\n"
