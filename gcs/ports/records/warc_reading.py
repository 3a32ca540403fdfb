"""Reads one exchange of a WARC: the answer to a request, as a record names it.

A revisit record has no payload: another record has it, which is looked for by its digest in all records of the crawl.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from isal import igzip_lib, isal_zlib

from gcs.core.page.values import PageRecord
from gcs.errors import CodecError, StoreError
from gcs.ports.fetch.http_message import ContentError, decode
from gcs.ports.records.finished_files import Remote
from gcs.ports.records.layout import WARC, store_error
from gcs.ports.records.reading import crawl_remotes, is_url, rows
from gcs.ports.records.warc import heads

_GZIP = 31  # zlib's wbits for one gzip member
#: most bytes of a decoded body
MOST_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Exchange:
    """An answer, as the WARC has it."""

    #: of the WARC record, by lower-case name
    warc_headers: Mapping[str, str]
    #: the first line of the answer; "" where no HTTP was spoken
    status_line: str
    #: of the answer, by lower-case name; of several of one name, the first
    headers: Mapping[str, str]
    #: the payload as it was sent
    body: bytes

    @property
    def content(self) -> bytes:
        """The payload without content coding."""
        try:
            return decode(self.body, self.headers.get("content-encoding", ""), MOST_BYTES)
        except ContentError as error:
            raise CodecError(f"{self.warc_headers.get('warc-target-uri')}: {error}") from error


def read_exchange(place: str | Path, record: PageRecord) -> Exchange:
    """The answer that the record names, with its payload, wherever that is."""
    found = _read(place, record.warc_file, record.warc_offset, record.warc_bytes)
    if found.warc_headers.get("warc-type") != "revisit":
        return found
    for digest, *where in rows(place, ("digest", "warc_file", "warc_offset", "warc_bytes")):
        if digest == record.digest and where[0]:
            original = _read(place, *where)
            if original.warc_headers.get("warc-type") != "revisit":
                if not found.status_line:  # a 304: the copy holds as it is
                    return Exchange(found.warc_headers, original.status_line, original.headers, original.body)
                headers = dict(found.headers)
                coding = original.headers.get("content-encoding")
                headers |= {"content-encoding": coding} if coding else {}
                return Exchange(found.warc_headers, found.status_line, headers, original.body)
    raise StoreError(f"{place}: the payload of {record.url} ({record.digest}) is in no WARC of this crawl any more")


def raw_record(place: str | Path, record: PageRecord) -> bytes:
    """The WARC record that a page record names, as it is in the file: a member of gzip."""
    return _bytes(place, record.warc_file, record.warc_offset, record.warc_bytes)


def _read(place: str | Path, name: str, offset: int, size_bytes: int) -> Exchange:
    data = _bytes(place, name, offset, size_bytes)
    try:
        record = isal_zlib.decompress(data, _GZIP)
    except (isal_zlib.error, igzip_lib.IsalError) as error:  # type: ignore[misc]  # its stub forgets that it is a class
        raise CodecError(f"{name} is damaged at byte {offset}: {error}; see gcs verify") from error
    warc, http = heads(record)
    block = record.partition(b"\r\n\r\n")[2][: int(warc.fields.get("content-length", "0"))]
    body = block.partition(b"\r\n\r\n")[2] if http.line else block
    return Exchange(warc.fields, http.line, http.fields, body)


def _bytes(place: str | Path, name: str, offset: int, size_bytes: int) -> bytes:
    if not is_url(place):
        folders = [Path(place) / WARC, *Path(place).glob(f"state/*/spool/{WARC}")]
        for path in (folder / name for folder in folders):
            try:
                with path.open("rb") as file:
                    file.seek(offset)
                    return file.read(size_bytes)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise store_error("read", path, error) from error
    for remote in crawl_remotes(place):
        if name in _names(remote):
            with remote.open(WARC, name) as stream:
                stream.seek(offset)
                return bytes(stream.read(size_bytes))
    raise StoreError(f"{place}: there is no {name}: it was moved or deleted")


def _names(remote: Remote) -> list[str]:
    return list(remote.names(WARC))
