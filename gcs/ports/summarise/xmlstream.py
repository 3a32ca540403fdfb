"""XML as it is found on the web: the elements of some names, one after the other, whatever surrounds them.

By lxml in its forgiving mode, as a stream: an element is dropped once the caller has seen it, so that
memory does not grow with the document. Entities are never expanded, nothing is loaded from anywhere,
and depth and text size are bounded by libxml2. Damage ends the stream, it never raises.
"""

import io
import re
from collections.abc import Iterator
from typing import Any

from gcs.ports.summarise.charset import as_text

#: characters that XML does not allow, which end a parse even in the forgiving mode
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_XML_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*>", re.I)


def elements(content: bytes, content_type: str, names: tuple[str, ...]) -> Iterator[Any]:
    """The elements with one of these local names, in any namespace, as they end; then they are emptied."""
    from lxml import etree  # type: ignore[import-untyped]

    text = as_text(content, content_type)
    if _NOT_XML.search(text):
        text = _NOT_XML.sub("", text)
    # the declaration may name another encoding than the one in which the parser gets it
    stream = io.BytesIO(_XML_DECLARATION.sub("", text, count=1).strip().encode())
    events = etree.iterparse(
        stream,
        events=("end",),
        tag=[f"{{*}}{name}" for name in names],
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
    )
    seen: Any = None
    try:
        for _, element in events:
            if seen is not None and (parent := seen.getparent()) is not None:
                parent.remove(seen)  # only now: while its end is handled libxml2 still holds on to it
            yield element
            element.clear()
            seen = element
    except (etree.XMLSyntaxError, AssertionError):  # nothing that can be repaired; empty documents come here too
        return


def local_name(element: Any) -> str:
    """The name of an element without its namespace; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def text_of(element: Any) -> str:
    """The text in an element and below it, white space collapsed."""
    return " ".join("".join(element.itertext()).split())
