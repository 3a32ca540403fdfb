"""OpenDocument files (odt, ods, odp, odg): paragraphs, headings and cells; links, properties."""

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.formats import document_of
from gcs.ports.summarise.formats.zip_package import ZipPackage
from gcs.ports.summarise.xml_stream import local_name, text_of

_XLINK = "{http://www.w3.org/1999/xlink}href"


def summarise_opendocument(source: Source) -> Document:
    package = ZipPackage(source.content)
    properties = package.properties("meta.xml")
    hrefs: list[str] = []
    lines: list[str] = []
    room = source.options.max_text_bytes
    # a row is one line: the paragraphs of its cells are empty when it ends, so they are kept until then
    row: list[str] = []
    for element in package.elements("content.xml", "p", "h", "table-row"):
        if local_name(element) == "table-row":
            lines.append("\t".join(row))
            row = []
            continue
        hrefs += [href for each in element.iter() if local_name(each) == "a" and (href := each.get(_XLINK))]
        text = text_of(element)
        parent = element.getparent()
        (row if parent is not None and local_name(parent) == "table-cell" else lines).append(text)
        room -= len(text)
        if room <= 0:
            break
    return document_of(
        source,
        (*lines, "\t".join(row)),
        hrefs,
        title=properties.get("title", ""),
        description=properties.get("description") or properties.get("subject", ""),
        language=properties.get("language", ""),
    )
