"""Books (EPUB 2 and 3): the chapters in the order of the spine, read as the web pages that they are; properties."""

import posixpath
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

import msgspec

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.formats import document_of
from gcs.ports.summarise.formats.zip_package import ZipPackage
from gcs.ports.summarise.html import summarise_html
from gcs.ports.summarise.xml_stream import local_name

_CONTAINER = "META-INF/container.xml"
_XHTML = "application/xhtml+xml"
_MAX_CHAPTERS = 1_000


def summarise_epub(source: Source) -> Document:
    package = ZipPackage(source.content)
    root = next((each.get("full-path") or "" for each in package.elements(_CONTAINER, "rootfile")), "")
    properties = package.properties(root)
    read = [summarise_html(chapter) for chapter in _chapters(package, root, source)]
    return document_of(
        source,
        (document.text for document in read),
        [href for document in read for href in document.hrefs],
        title=properties.get("title", ""),
        description=properties.get("description") or properties.get("subject", ""),
        language=properties.get("language", ""),
    )


def _chapters(package: ZipPackage, root: str, source: Source) -> Iterator[Source]:
    files: dict[str, str] = {}
    spine: list[str] = []
    for element in package.elements(root, "item", "itemref"):
        if local_name(element) == "itemref":
            spine.append(element.get("idref") or "")
        elif element.get("media-type") == _XHTML:
            files[element.get("id") or ""] = unquote(element.get("href") or "")
    depth = "links" if source.depth == "links" else "fast"
    folder, room = posixpath.dirname(root), source.options.max_text_bytes
    for each in islice(dict.fromkeys(spine), _MAX_CHAPTERS):
        content = package.read(posixpath.normpath(posixpath.join(folder, files[each]))) if each in files else b""
        if content:
            yield msgspec.structs.replace(source, content=content, content_type=_XHTML, depth=depth)
        room -= len(content) // 4  # much of a chapter is text
        if room <= 0:
            break
