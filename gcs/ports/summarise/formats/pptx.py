"""PowerPoint presentations (pptx, pptm): the texts of the slides in their order, with the notes; links, properties."""

from collections.abc import Iterator
from itertools import islice

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.formats import document_of
from gcs.ports.summarise.formats.zip_package import ZipPackage
from gcs.ports.summarise.xml_stream import local_name

_MAIN = "ppt/presentation.xml"
_MAX_SLIDES = 1_000
_OFFICE = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def summarise_pptx(source: Source) -> Document:
    package = ZipPackage(source.content)
    properties = package.properties()
    parts = package.targets(_MAIN, "slide")
    order = (slide.get(_OFFICE) or "" for slide in islice(package.elements(_MAIN, "sldId"), _MAX_SLIDES))
    slides = [parts[each] for each in order if each in parts]
    return document_of(
        source,
        (line for slide in slides for line in _slide(package, slide)),
        [url for slide in slides for url in package.targets(slide, "hyperlink").values()],
        title=properties.get("title", ""),
        description=properties.get("description") or properties.get("subject", ""),
        language=properties.get("language", ""),
    )


def _slide(package: ZipPackage, slide: str) -> Iterator[str]:
    for part in (slide, *package.targets(slide, "notesSlide").values()):
        for paragraph in package.elements(part, "p"):
            yield "".join(each.text or "" for each in paragraph.iter() if local_name(each) == "t")
