"""XML that is neither page, feed nor sitemap, and SVG pictures: their texts, their title, their links."""

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.formats import document_of
from gcs.ports.summarise.xml_stream import local_name, text_of, whole_tree

#: bytes that are read: a tree takes ten times as much memory
_MAX_BYTES = 4 << 20
_LINKS = ("href", "{http://www.w3.org/1999/xlink}href")
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
#: elements of SVG that hold no words
_UNREAD = frozenset(("style", "script"))


def summarise_xml(source: Source) -> Document:
    root = whole_tree(source.content[:_MAX_BYTES], source.content_type)
    if root is None:
        return Document()
    is_svg = local_name(root) == "svg"
    title: str | None = None
    description: str | None = None
    hrefs: list[str] = []
    lines: list[str] = []
    for element in root.iter():  # only the first title and description count: each could hold all the others
        name = local_name(element)
        if title is None and name == "title":
            title = text_of(element)
        elif is_svg and description is None and name == "desc":
            description = text_of(element)
        if name not in _UNREAD and element.text:
            lines.append(element.text)
        if element.tail:
            lines.append(element.tail)
        if not is_svg or name == "a":
            hrefs += [href for each in _LINKS if (href := element.get(each))]
    return document_of(
        source,
        lines,
        hrefs,
        title=title or "",
        description=description or "",
        language=root.get(_LANGUAGE) or "",
        of_the_web=is_svg,
    )
