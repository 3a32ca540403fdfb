"""XML as it is found on the web: the elements of some names, one after the other, whatever surrounds them.

By lxml in its forgiving mode, as a stream: an element is dropped once the caller has seen it, so that
memory does not grow with the document. Document types are cut out before the parser sees them, so that
there are no entities to expand and nothing to load; depth and text size are bounded by libxml2. Damage
ends the stream, it never raises.
"""

import io
import re
from collections.abc import Iterator
from html.entities import html5
from itertools import islice
from typing import Any

from gcs.ports.summarise.encoding import as_text

#: characters that XML does not allow, which end a parse even in the forgiving mode
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
#: tags, and ampersands, that are read: the largest honest sitemaps have some hundred thousand
_MAX_TAGS = 1_000_000
#: marks that tags and attributes are made of: a tag has one, an attribute two; each takes memory until the root ends
_MAX_MARKS = 2_000_000
_LESS, _MARK = re.compile("<"), re.compile("[<\"']")
#: numbers of the same characters, and those beyond the last: a reference to one becomes this
_REPLACEMENT = "\ufffd"
_LAST_CHARACTER = 0x10FFFF
#: what comes before the root: a declaration, which may name another encoding than the parser gets; a document type
_PROLOGUE = re.compile(r"(?:\s++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*+(?:(?>\[.*?\])\s*+)?+>)*+", re.I | re.S)
#: what may be no XML: "<" of a tag without end, for which libxml2 takes quadratic time; ampersands: bare ones in URLs,
#: the named characters of HTML, numbers of characters. CDATA sections and comments stay as they are
_NOT_MARKUP = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<(?![^<>]*+>)|&(?!(?:amp|lt|gt|quot|apos);)(?:(\w{2,32};)|#(?:([0-9]{1,7})|x([0-9a-f]{1,6}));)?",
    re.I | re.S,
)


#: how lxml reads what a stranger wrote: it repairs, fetches nothing and expands nothing
_SAFELY: dict[str, Any] = {
    "recover": True,
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
    "encoding": "utf-8",
}


def elements(content: bytes, content_type: str, names: tuple[str, ...]) -> Iterator[Any]:
    """The elements with one of these local names, in any namespace, as they end; then they are emptied."""
    from lxml import etree  # type: ignore[import-untyped]

    stream = io.BytesIO(_cleaned(as_text(content, content_type)).encode())
    events = etree.iterparse(
        stream,
        events=("end",),
        tag=[f"{{*}}{name}" for name in names],
        **_SAFELY,
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


def whole_tree(content: bytes, content_type: str) -> Any:
    """The root element of a document, for callers that need all of it at once; None where there is none."""
    from lxml import etree

    parser = etree.XMLParser(
        **_SAFELY,
    )
    try:
        return etree.fromstring(_cleaned(as_text(content, content_type)).encode(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _cleaned(text: str) -> str:
    """The document without what a parser stumbles over, or should not see."""
    prologue = _PROLOGUE.match(text)
    assert prologue is not None, "the pattern matches nothing too"
    text = text[prologue.end() :]
    if text.count("<") > _MAX_TAGS:
        text = text[: next(islice(_LESS.finditer(text), _MAX_TAGS, None)).start()]
    if text.count("<") + text.count('"') + text.count("'") > _MAX_MARKS:
        text = text[: next(islice(_MARK.finditer(text), _MAX_MARKS, None)).start()]
    if _NOT_XML.search(text):
        text = _NOT_XML.sub("", text)
    return _NOT_MARKUP.sub(_as_xml, text, _MAX_TAGS).strip()


def _as_xml(match: re.Match[str]) -> str:
    if match[0][0] == "<":
        return "&lt;" if match[0] == "<" else match[0]
    if match[2] or match[3]:
        number = int(match[2]) if match[2] else int(match[3], 16)
        is_xml = number <= _LAST_CHARACTER and not _NOT_XML.match(chr(number))
        return match[0] if is_xml else _REPLACEMENT
    character = html5.get(match[1] or "", "")
    return character if character not in ("", "<", "&") else "&amp;" + match[0][1:]


def local_name(element: Any) -> str:
    """The name of an element without its namespace; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def text_of(element: Any) -> str:
    """The text in an element and below it, white space collapsed."""
    return " ".join("".join(element.itertext()).split())
