"""Zip packages: the parts of an office document or a book, by name, and the properties that it has of itself.

Invariant: all parts together unfold to `_TOTAL_BYTES` at most, and one part to `_PART_BYTES`; all XML together has
`_TOTAL_TAGS` at most, but for the last part: what lies beyond is not read. Damage ends a part, it never raises. XML is
read by `xml_stream`, which drops document types with their entities.
"""

import io
import posixpath
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from gcs.ports.summarise.archive import DAMAGE, DIRECTORY_ENTRY, ENCRYPTED, ZIP_METHODS
from gcs.ports.summarise.xml_stream import elements, local_name, text_of

#: unfolded bytes that are read of one part and of all parts
_PART_BYTES, _TOTAL_BYTES = 8 << 20, 16 << 20
#: tags of all parts: a tag costs microseconds, and a package of 4 KB can hold millions
_TOTAL_TAGS = 1_000_000
#: parts that a package may name
_MAX_PARTS = 10_000
#: elements that are looked at in one part
_MAX_ELEMENTS = 200_000
_CORE_PROPERTIES = "docProps/core.xml"
#: names of properties, as both families of office formats write them
_PROPERTIES = ("title", "subject", "description", "keywords", "keyword", "creator", "language", "created", "modified")


class ZipPackage:
    """The parts of one package."""

    def __init__(self, content: bytes) -> None:
        self._left, self._tags = _TOTAL_BYTES, _TOTAL_TAGS
        self._archive: ZipFile | None = None
        self._infos: dict[str, ZipInfo] = {}
        if content.count(DIRECTORY_ENTRY) > _MAX_PARTS:
            return
        try:
            self._archive = ZipFile(io.BytesIO(content))
            self._infos = {info.filename.lstrip("/"): info for info in self._archive.infolist()}
        except (*DAMAGE, BadZipFile):
            return

    @property
    def names(self) -> list[str]:
        return list(self._infos)

    def read(self, name: str) -> bytes:
        """A part, as far as the limits allow; empty where there is none."""
        info = self._infos.get(name.lstrip("/"))
        if info is None or self._archive is None or self._left <= 0:
            return b""
        if info.compress_type not in ZIP_METHODS or info.flag_bits & ENCRYPTED:
            return b""
        data = b""
        try:
            with self._archive.open(info) as file:
                data = file.read(min(_PART_BYTES, self._left))
        except (*DAMAGE, BadZipFile, zlib.error):
            pass
        self._left -= len(data)
        return data

    def elements(self, name: str, *names: str) -> Iterator[Any]:
        """The elements of a part that have one of these local names, as they end."""
        if self._tags > 0 and (data := self.read(name)):
            self._tags -= data.count(b"<")
            yield from islice(elements(data, "", names), _MAX_ELEMENTS)

    def properties(self, part: str = _CORE_PROPERTIES) -> dict[str, str]:
        """What the package says of itself: title, creator, language…"""
        found: dict[str, str] = {}
        for element in self.elements(part, *_PROPERTIES):
            found.setdefault(local_name(element), text_of(element))
        return found

    def targets(self, part: str, kind: str) -> dict[str, str]:
        """Where a part refers to with a relationship of that kind: identifier → URL, or name of another part."""
        folder, name = posixpath.split(part)
        found: dict[str, str] = {}
        for element in self.elements(f"{folder}/_rels/{name}.rels".lstrip("/"), "Relationship"):
            if (element.get("Type") or "").endswith(f"/{kind}"):
                target = element.get("Target") or ""
                if element.get("TargetMode") != "External":
                    target = posixpath.normpath(posixpath.join(folder, target)) if target[:1] != "/" else target[1:]
                found[element.get("Id") or ""] = target
        return found
