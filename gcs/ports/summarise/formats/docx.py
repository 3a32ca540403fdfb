"""Word documents (docx, docm): paragraphs, notes, links, properties."""

from collections.abc import Iterator

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.formats import document_of
from gcs.ports.summarise.formats.zip_package import ZipPackage
from gcs.ports.summarise.xml_stream import local_name

_MAIN = "word/document.xml"
_NOTES = ("word/footnotes.xml", "word/endnotes.xml")


def summarise_docx(source: Source) -> Document:
    package = ZipPackage(source.content)
    properties = package.properties()
    hrefs = [url for part in (_MAIN, *_NOTES) for url in package.targets(part, "hyperlink").values()]
    lines = (line for part in (_MAIN, *_NOTES) for line in _paragraphs(package, part))
    return document_of(
        source,
        lines,
        hrefs,
        title=properties.get("title", ""),
        description=properties.get("description") or properties.get("subject", ""),
        language=properties.get("language", ""),
    )


def _paragraphs(package: ZipPackage, part: str) -> Iterator[str]:
    for paragraph in package.elements(part, "p"):
        words: list[str] = []
        for element in paragraph.iter():
            match local_name(element):
                case "t":
                    words.append(element.text or "")
                case "tab" | "br" | "cr":
                    words.append(" ")
        yield "".join(words)
