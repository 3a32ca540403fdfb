"""The format of a document, from its Content-Type and its first bytes.

The bytes win where they are sure (a PDF that is served as text/html is a PDF, a sitemap served as text/html a sitemap);
the header decides the rest. `recognise` is pure, never raises, and looks at the first 4 KB only; of a zip file also at
the last 64 KB, where its directory names what it holds.
"""

import re
from enum import StrEnum
from functools import lru_cache


class Format(StrEnum):
    """What a summariser or an expander is chosen by."""

    HTML = "html"
    SITEMAP = "sitemap"  # XML: urlset or sitemapindex
    URL_LIST = "url-list"  # plain text, one URL a line: the other form of a sitemap
    FEED = "feed"  # RSS, Atom, RDF
    TEXT = "text"
    MARKDOWN = "markdown"
    XML = "xml"  # any other
    JSON = "json"
    CODE = "code"  # scripts and style sheets: nothing to read, nothing to follow
    CSV = "csv"  # and tab-separated values
    SVG = "svg"
    PDF = "pdf"
    RTF = "rtf"
    DOCX = "docx"
    XLSX = "xlsx"
    PPTX = "pptx"
    OPEN_DOCUMENT = "open-document"  # odt, ods, odp, odg
    EPUB = "epub"
    MHTML = "mhtml"  # a page with its parts, as browsers save it
    GZIP = "gzip"
    ZIP = "zip"  # and jar, war
    TAR = "tar"
    IMAGE = "image"
    MEDIA = "media"  # sound and film
    OTHER = "other"


_HEAD_BYTES = 4096
_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"))
_FEED_TYPES = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml"))
_CODE_TYPES = frozenset(("text/css", "application/javascript", "application/ecmascript", "application/wasm"))
_TYPES = {
    "application/pdf": Format.PDF,
    "application/x-pdf": Format.PDF,
    "application/gzip": Format.GZIP,
    "application/x-gzip": Format.GZIP,
    "application/zip": Format.ZIP,
    "application/x-zip-compressed": Format.ZIP,
    "application/java-archive": Format.ZIP,
    "application/x-tar": Format.TAR,
    "application/x-gtar": Format.TAR,
    "text/markdown": Format.MARKDOWN,
    "text/x-markdown": Format.MARKDOWN,
    "text/csv": Format.CSV,
    "text/tab-separated-values": Format.CSV,
    "application/csv": Format.CSV,
    "image/svg+xml": Format.SVG,
    "application/rtf": Format.RTF,
    "text/rtf": Format.RTF,
    "application/epub+zip": Format.EPUB,
    "multipart/related": Format.MHTML,
    "application/x-mimearchive": Format.MHTML,
    "application/ogg": Format.MEDIA,
}
#: beginnings of media types: templates and files with macros have types of their own
_OFFICE_TYPES = {
    "application/vnd.openxmlformats-officedocument.wordprocessingml.": Format.DOCX,
    "application/vnd.openxmlformats-officedocument.spreadsheetml.": Format.XLSX,
    "application/vnd.openxmlformats-officedocument.presentationml.": Format.PPTX,
    "application/vnd.ms-word.document.macroenabled.": Format.DOCX,
    "application/vnd.ms-excel.sheet.macroenabled.": Format.XLSX,
    "application/vnd.ms-powerpoint.presentation.macroenabled.": Format.PPTX,
    "application/vnd.oasis.opendocument.": Format.OPEN_DOCUMENT,
}
#: formats that are zip files: the header may name one of them for what begins as a zip file, and for nothing else
ZIP_BASED = frozenset((Format.ZIP, Format.DOCX, Format.XLSX, Format.PPTX, Format.OPEN_DOCUMENT, Format.EPUB))
#: bytes at the end of a zip file in which names of its members are looked for, and what these say
_DIRECTORY_BYTES = 64 << 10
_MAIN_PARTS = {
    b"word/document.xml": Format.DOCX,
    b"xl/workbook.xml": Format.XLSX,
    b"xl/workbook.bin": Format.OTHER,
    b"ppt/presentation.xml": Format.PPTX,
}
#: where the first member of a zip file has its name
_FIRST_NAME = 30
_MIMETYPE = b"mimetype"
#: where the header says one of these, it says nothing
_VAGUE = frozenset(("", "application/octet-stream", "binary/octet-stream", "unknown/unknown", "application/unknown"))
#: unmistakable beginnings of binary formats; none of them can begin a text
_MAGIC = {
    Format.GZIP: (b"\x1f\x8b\x08",),
    Format.ZIP: (b"PK\x03\x04", b"PK\x05\x06"),
    Format.PDF: (b"%PDF-",),
    Format.RTF: (b"{\\rtf",),
    Format.IMAGE: (
        *(b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"\x00\x00\x01\x00", b"II*\x00", b"MM\x00*"),
    ),
    Format.MEDIA: (b"ID3", b"OggS\x00", b"fLaC\x00", b"\x1aE\xdf\xa3"),
    Format.OTHER: (
        *(b"\x7fELF", b"wOFF", b"wOF2", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\xfd7zXZ\x00", b"BZh"),
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",  # the office files of the nineties
    ),
}
_MAGIC_FIRST = frozenset(magic[0] for magics in _MAGIC.values() for magic in magics)
_RIFF = {b"WEBP": Format.IMAGE, b"WAVE": Format.MEDIA, b"AVI ": Format.MEDIA}
_XML_ROOT = re.compile(
    rb"(?:\s++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*+(?:(?>\[.*?\])\s*+)?+>)*+<(?:[\w.-]++:)?+([\w.-]++)", re.S | re.I
)
_ROOTS = {
    b"urlset": Format.SITEMAP,
    b"sitemapindex": Format.SITEMAP,
    b"rss": Format.FEED,
    b"feed": Format.FEED,
    b"rdf": Format.FEED,
    b"html": Format.HTML,
    b"svg": Format.SVG,
}
_HTML_START = re.compile(
    rb"\s*+(?:(?><!--.*?-->)\s*+)*+<(?:!doctype\s++html|html|head|body|script|iframe|h1|div|font|table|a|style|title|b|br|p)"
    rb"[\s>]",
    re.S | re.I,
)
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_URL_LINE = re.compile(rb"https?://\S+\s*", re.I)
_BOM = b"\xef\xbb\xbf"
_UTF_16_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def recognise(content_type: str, content: bytes) -> Format:
    declared = _declared(content_type)
    if declared is Format.HTML and content[:2] == b"<!":  # the usual page
        return declared
    head = content[:_HEAD_BYTES]
    if head[:2] in _UTF_16_BOMS:
        head = head.decode(_UTF_16_BOMS[head[:2]], "ignore").encode("utf-8", "ignore")
    head = head.removeprefix(_BOM)
    sure = _by_magic(head)
    if sure is Format.ZIP:
        return _zip_kind(content, declared)
    if sure:
        return sure
    if declared in ZIP_BASED:  # it is none
        declared = None
    if declared in (Format.HTML, Format.XML, Format.FEED, Format.SITEMAP):
        return _by_root(head, declared)
    if declared is Format.TEXT:
        return _text_or_more(head)
    return declared or _sniffed(head)


@lru_cache(maxsize=1024)
def _declared(content_type: str) -> Format | None:
    """What the header says; None where it says nothing."""
    essence = content_type.partition(";")[0].strip().lower()
    kind, _, subtype = essence.partition("/")
    if essence in _HTML_TYPES:
        return Format.HTML
    if essence in _VAGUE or not subtype:
        return None
    if essence in _FEED_TYPES:
        return Format.FEED
    if essence in _TYPES:
        return _TYPES[essence]
    for beginning, format in _OFFICE_TYPES.items():
        if essence.startswith(beginning):
            return format
    if essence in _CODE_TYPES or "javascript" in subtype:
        return Format.CODE
    if kind in ("image", "audio", "video", "font"):
        return {"image": Format.IMAGE, "font": Format.OTHER}.get(kind, Format.MEDIA)
    if subtype == "xml" or subtype.endswith("+xml"):
        return Format.XML
    if subtype == "json" or subtype.endswith("+json"):
        return Format.JSON
    return Format.TEXT if kind == "text" else Format.OTHER


def _by_magic(head: bytes) -> Format | None:
    if head and head[0] in _MAGIC_FIRST:
        for format, magics in _MAGIC.items():
            if head.startswith(magics):
                return format
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12])
    if head[4:8] == b"ftyp" and b"\x00" in head[:4]:
        return Format.IMAGE if head[8:12] in (b"avif", b"heic") else Format.MEDIA
    if head[257:262] == b"ustar":
        return Format.TAR
    return None


def _zip_kind(content: bytes, declared: Format | None) -> Format:
    """What a zip file is: what its first member says, what the header says, what the names in its directory say."""
    if content[_FIRST_NAME : _FIRST_NAME + len(_MIMETYPE)] == _MIMETYPE:  # stored first and bare for this very purpose
        named = _declared(content[_FIRST_NAME + len(_MIMETYPE) :][:100].partition(b"PK")[0].decode("latin-1"))
        if named in (Format.OPEN_DOCUMENT, Format.EPUB):
            return named
    if declared in ZIP_BASED and declared is not Format.ZIP:
        return declared
    directory = content[-_DIRECTORY_BYTES:]
    return next((format for name, format in _MAIN_PARTS.items() if name in directory), Format.ZIP)


def _by_root(head: bytes, declared: Format) -> Format:
    """Markup, by its root element: sitemaps and feeds are often served under another name."""
    match = _XML_ROOT.match(head)
    if match is None:
        return declared
    found = _ROOTS.get(match[1].lower())
    if found is None:
        return declared
    # an element called <feed> or <rss> inside what is served as HTML is no feed unless the XML says so
    return found if declared is not Format.HTML or found is Format.SITEMAP or b"<?xml" in head[:64] else declared


def _text_or_more(head: bytes) -> Format:
    """Plain text may be a list of URLs, or a sitemap that the server does not know."""
    if head.lstrip()[:5] == b"<?xml":
        found = _by_root(head, Format.TEXT)
        return found if found is not Format.HTML else Format.TEXT
    lines = head.split(b"\n")
    if len(lines) > 1 and len(head) >= _HEAD_BYTES - len(_BOM):
        lines.pop()  # cut in the middle
    urls = [line for line in lines if line.strip()]
    return Format.URL_LIST if urls and all(_URL_LINE.fullmatch(line) for line in urls) else Format.TEXT


def _sniffed(head: bytes) -> Format:
    """Without a header: markup if it looks like it, text if it has no binary byte."""
    if _HTML_START.match(head):
        return Format.HTML
    if head.lstrip()[:5] == b"<?xml":
        return _by_root(head, Format.XML)
    root = _by_root(head, Format.OTHER)
    if root is not Format.OTHER:
        return root
    return Format.OTHER if _BINARY.search(head) or not head else _text_or_more(head)
