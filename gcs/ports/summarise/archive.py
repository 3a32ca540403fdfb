"""Archives (zip and jar; tar, plain or in gzip, bzip2 or xz; gzip): the documents inside, as one document.

Each member is read by the summariser of its own format. An archive is one page of the crawl: its text is the members'
texts under their names, its links are their absolute ones (a relative link inside an archive leads nowhere on the web).
Archives inside of archives are read one level down; what they hold counts to the same limits.

Invariant: what is read is bounded by `LIMITS` and by the options, whatever the archive holds.
"""

import bz2
import io
import lzma
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from gcs.core.page.simhash import simhash
from gcs.core.page.values import Document
from gcs.ports.summarise import Options

if TYPE_CHECKING:
    import mimetypes
    import tarfile

_CHUNK_BYTES = 64 * 1024
#: gzip files in a row that are read
_GZIP_FILES = 1_000
#: memory that an xz stream may ask for
_XZ_MEMORY_BYTES = 128 * 1024 * 1024
#: stored and deflated: the others are rare, and some take memory as the archive likes
ZIP_METHODS = (0, 8)
ENCRYPTED = 1
#: entries (directories, links…) that are passed over for each member that may be taken
_HEADERS_PER_MEMBER = 10
DIRECTORY_ENTRY = b"PK\x01\x02"
#: bytes of an extended header of a tar file, and digits in a row that no honest one has
_PAX_BYTES, _MANY_DIGITS = 1 << 20, re.compile(rb"[0-9]{40}")


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What an archive may grow to."""

    #: documents taken out
    members: int = 1_000
    #: of one member; larger ones are left out
    member_bytes: int = 16 * 1024 * 1024
    #: of all members together
    total_bytes: int = 64 * 1024 * 1024
    #: of all members to the archive
    ratio: int = 200


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file in an archive."""

    #: its path as the archive has it; "" for what a bare gzip holds
    name: str
    content: bytes
    #: guessed from the name; "" where the name says nothing
    content_type: str
    #: what is left for an archive that it may be itself
    budget: "ArchiveBudget | None" = None


class _TooMuchError(Exception):
    """A limit was met: what has been taken out so far stays."""


#: what the standard library raises on damaged archives
DAMAGE = (_TooMuchError, OSError, EOFError, ValueError, RuntimeError, LookupError, OverflowError, struct.error)


def members(
    content: bytes, limits: ArchiveLimits = ArchiveLimits(), outer: "ArchiveBudget | None" = None
) -> Iterator[ArchiveMember]:
    """The files in an archive, in its order; nothing where it is none. `outer`: what is left of the archive around."""
    budget = ArchiveBudget.of(content, limits, outer)
    if content.startswith(b"PK"):
        return islice(_zip_members(content, limits, budget), limits.members)
    if content.startswith(b"\x1f\x8b") and gunzip(content, 512)[257:262] != b"ustar":
        inside = gunzip(content, min(limits.member_bytes, budget.left))
        with suppress(_TooMuchError):
            budget.spend(len(inside))
            return iter([ArchiveMember("", inside, "", budget)] if inside else [])
        return iter([])
    return islice(_tar_members(content, limits, budget), limits.members)


def gunzip(content: bytes, max_bytes: int) -> bytes:
    """What gzip holds, up to the limit or to the first damage; files that follow one another are one."""
    out = bytearray()
    position = 0
    for _ in range(_GZIP_FILES):
        decompressor = zlib.decompressobj(wbits=31)
        try:
            while not decompressor.eof and position < len(content) and len(out) < max_bytes:
                piece = content[position : position + _CHUNK_BYTES]
                out += decompressor.decompress(piece, max_bytes - len(out))
                position += len(piece) - len(decompressor.unused_data) - len(decompressor.unconsumed_tail)
        except zlib.error:
            break
        if not decompressor.eof or content[position : position + 2] != b"\x1f\x8b":
            break
    return bytes(out)


class ArchiveBudget:
    """Counts what comes out of an archive, and of those inside of it together."""

    def __init__(self, total_bytes: int, members: int, outer: "ArchiveBudget | None" = None) -> None:
        self.left, self._members, self._outer = total_bytes, members, outer

    @classmethod
    def of(cls, content: bytes, limits: ArchiveLimits, outer: "ArchiveBudget | None") -> "ArchiveBudget":
        most = min(limits.total_bytes, max(limits.ratio * len(content), _CHUNK_BYTES))
        return cls(min(most, outer.left) if outer else most, limits.members, outer)

    def spend(self, size_bytes: int) -> None:
        """Raises when more bytes or members have come out than are allowed."""
        self.left -= size_bytes
        self._members -= 1
        if self.left < 0 or self._members < 0:
            raise _TooMuchError
        if self._outer:
            self._outer.spend(size_bytes)


def _zip_members(content: bytes, limits: ArchiveLimits, budget: ArchiveBudget) -> Iterator[ArchiveMember]:
    import zipfile

    if content.count(DIRECTORY_ENTRY) > _HEADERS_PER_MEMBER * limits.members:  # its directory takes seconds to read
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for info in archive.infolist():
                if info.is_dir() or info.compress_type not in ZIP_METHODS or info.flag_bits & ENCRYPTED:
                    continue
                if info.file_size > limits.member_bytes:
                    continue
                with archive.open(info) as file:
                    data = file.read(limits.member_bytes)  # stops at the size that the directory claims
                budget.spend(len(data))
                yield _member(info.filename, data, budget)
    except (*DAMAGE, zipfile.BadZipFile, zlib.error):
        return


def _tar_members(content: bytes, limits: ArchiveLimits, budget: ArchiveBudget) -> Iterator[ArchiveMember]:
    import tarfile

    try:
        file_object = io.BytesIO(_unpacked(content, budget.left))
        with tarfile.open(fileobj=file_object, mode="r:", tarinfo=_header_class()) as archive:
            for position, info in enumerate(archive):
                if position > _HEADERS_PER_MEMBER * limits.members:
                    return
                if not info.isreg() or info.size > limits.member_bytes or info.sparse:
                    continue
                file = archive.extractfile(info)
                assert file is not None, "a regular file has content"
                data = file.read(limits.member_bytes)
                budget.spend(len(data))
                yield _member(info.name, data, budget)
    except (*DAMAGE, tarfile.TarError, zlib.error, lzma.LZMAError):
        return


@cache
def _header_class() -> "type[tarfile.TarInfo]":
    import tarfile

    class BoundedHeader(tarfile.TarInfo):
        """The header of a file in a tar. Python before 3.11.10 takes minutes for an extended one of digits alone."""

        def _proc_pax(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
            assert archive.fileobj is not None
            start = archive.fileobj.tell()
            if self.size > _PAX_BYTES or _MANY_DIGITS.search(archive.fileobj.read(self.size)):
                raise tarfile.ReadError("no extended header")
            archive.fileobj.seek(start)
            return super()._proc_pax(archive)  # type: ignore[misc, no-any-return]

    return BoundedHeader


def _unpacked(content: bytes, max_bytes: int) -> bytes:
    """The beginning of the tar file inside its compression."""
    if content.startswith(b"\x1f\x8b"):
        return gunzip(content, max_bytes)
    if content.startswith(b"BZh"):
        return bz2.BZ2Decompressor().decompress(content, max_bytes)
    if content.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMADecompressor(memlimit=_XZ_MEMORY_BYTES).decompress(content, max_bytes)
    return content


def _member(name: str, data: bytes, budget: ArchiveBudget) -> ArchiveMember:
    return ArchiveMember(name, data, type_of_name(name), budget)


def type_of_name(name: str) -> str:
    """The media type that a file's name speaks of; "" for none."""
    return _types().guess_type(name)[0] or ""


@cache
def _types() -> "mimetypes.MimeTypes":
    """What names mean, from the standard library's own table: the system's differs between machines."""
    import mimetypes

    return mimetypes.MimeTypes(filenames=())


#: smaller than the expander's own: this is read while other pages wait
LIMITS = ArchiveLimits(members=500, member_bytes=4 << 20, total_bytes=16 << 20)


def summarise_members(
    inside: Iterable[ArchiveMember], options: Options, read: Callable[[ArchiveMember], Document]
) -> Document:
    """The files in an archive, or of a message, as one Document; `read` makes that of a member."""
    texts: list[str] = []
    hrefs: list[str] = []
    room, title, language = options.max_text_bytes, "", ""
    for member in inside:
        document = read(member)
        title = title or document.title
        language = language or document.language
        if not document.nofollow:
            hrefs += [href for href in document.hrefs if href.startswith(("http://", "https://"))]
        if document.text and room > 0 and not document.noindex:
            texts.append(f"{member.name}\n{document.text}".lstrip("\n")[:room])
            room -= len(texts[-1])
    text = "\n\n".join(texts)
    kept = hrefs[: options.max_links]
    return Document(hrefs=kept, title=title, language=language, text=text, simhash=simhash(text) if text else 0)
