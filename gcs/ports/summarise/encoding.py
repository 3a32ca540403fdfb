"""The encoding of a document, in the order of the HTML standard.

Byte order mark, Content-Type header, what the document declares in its first 1,024 bytes; then UTF-8 where the bytes
are valid UTF-8, a declaration further down (browsers start again when they meet one), and detection for what is left.
An unknown label counts as none. Encodings are named by their Python codec. `as_text` serves all formats.
"""

import re
from functools import lru_cache

UTF_8 = "utf-8"
#: bytes in which the standard looks for a declaration
_PRESCAN_BYTES = 1024
#: bytes looked at to tell an undeclared encoding
_DETECT_BYTES = 128 * 1024
_BOMS = ((b"\xef\xbb\xbf", UTF_8), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_UTF_8_LABELS = frozenset(("utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8"))
#: the encodings of the standard are supersets of what Python calls by the same name
_SUPERSETS = {"big5": "big5hkscs", "euc_kr": "cp949", "gbk": "gb18030", "iso8859-11": "cp874", "shift_jis": "cp932"}
#: labels of the standard that resiliparse does not know; Python has no codec for the last one
_MORE_LABELS = {"x-mac-cyrillic": "mac-cyrillic", "x-mac-ukrainian": "mac-cyrillic", "x-user-defined": "cp1252"}

_HEADER_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.I)
_CONTENT_CHARSET = re.compile(
    rb"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|(?!["'])([^\t\n\f\r ;]+))""", re.I
)
_XML_DECLARATION = re.compile(rb"<\?xml[^>]*+")
_XML_ENCODING = re.compile(rb"""\bencoding\s*+=\s*+["']([^"'>]*+)["']""")
_PRESCANNED = re.compile(rb"<(?:!--|(meta)[\t\n\f\r /]|/?[a-z][^\t\n\f\r >]*|[!/?])", re.I)
_META_ATTRIBUTE = re.compile(
    rb"""[\t\n\f\r /]*(?:(=?[^\t\n\f\r />=]+)[\t\n\f\r ]*
    (?:=[\t\n\f\r ]*(?:"([^"]*)(?:"|\Z)|'([^']*)(?:'|\Z)|([^\t\n\f\r >]*)))?)?""",
    re.X,
)


def as_utf8(content: bytes, content_type: str) -> bytes:
    """The document in UTF-8, without byte order mark: nearly always its own bytes, which may be invalid."""
    encoding = encoding_of(content, content_type)
    if encoding == UTF_8:
        return content.removeprefix(b"\xef\xbb\xbf")
    return content.decode(encoding, "replace").removeprefix("\ufeff").encode("utf-8", "replace")


def as_text(content: bytes, content_type: str) -> str:
    """The document as text; what is not valid in its encoding becomes U+FFFD."""
    return content.decode(encoding_of(content, content_type), "replace").removeprefix("\ufeff")


def encoding_of(content: bytes, content_type: str) -> str:
    """The Python codec that reads this document."""
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            return encoding
    encoding_or_none = _header_encoding(content_type)
    if encoding_or_none is None:
        encoding_or_none = declared_encoding(content[:_PRESCAN_BYTES])
    return encoding_or_none or _detected_encoding(content[:_DETECT_BYTES])


@lru_cache(maxsize=1024)
def codec_of(label: str) -> str | None:
    """The codec that an encoding label of the WHATWG registry stands for; None for an unknown one."""
    label = label.strip().lower()
    if label in _UTF_8_LABELS:
        return UTF_8
    from resiliparse.parse.encoding import map_encoding_to_html5

    codec: str | None = _MORE_LABELS.get(label) or map_encoding_to_html5(label, fallback_utf8=False)
    return _SUPERSETS.get(codec, codec) if codec else None


def declared_encoding(head: bytes) -> str | None:
    """What <meta> (or the XML declaration) in the head of a document says: the standard's prescan."""
    lowered = head.lower()
    if b"charset" not in lowered and b"encoding" not in lowered:
        return None
    declaration = _XML_DECLARATION.match(head)
    named = _XML_ENCODING.search(declaration[0]) if declaration else None
    fallback = _declared_codec(named[1]) if named else None
    position = 0
    while match := _PRESCANNED.search(head, position):
        position = match.end()
        if match[0] == b"<!--":
            end = head.find(b"-->", match.start() + 2)
            if end < 0:
                break
            position = end + 3
        elif match[0] in (b"<!", b"</", b"<?"):
            end = head.find(b">", position)
            if end < 0:
                break
            position = end + 1
        else:
            attributes, position = _read_attributes(head, position)
            if position == len(head):  # the tag may go on behind the window
                break
            if match[1] and (codec := _meta_codec(attributes)):
                return codec
    return fallback


@lru_cache(maxsize=1024)
def _header_encoding(content_type: str) -> str | None:
    match = _HEADER_CHARSET.search(content_type)
    return codec_of(match[1]) if match else None


def _read_attributes(head: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    attributes: dict[bytes, bytes] = {}
    while True:
        match = _META_ATTRIBUTE.match(head, position)
        assert match is not None, "every part of the pattern is optional"
        position = match.end()
        if match[1] is None:
            return attributes, position
        attributes.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")


def _meta_codec(attributes: dict[bytes, bytes]) -> str | None:
    if b"charset" in attributes:
        return _declared_codec(attributes[b"charset"])
    if attributes.get(b"http-equiv", b"").lower() == b"content-type":
        match = _CONTENT_CHARSET.search(attributes.get(b"content", b""))
        if match:
            return _declared_codec(match[1] or match[2] or match[3] or b"")
    return None


def _declared_codec(label: bytes) -> str | None:
    codec = codec_of(label.decode("latin-1"))
    if codec is not None and codec.startswith("utf-16"):  # then we could not have read the declaration
        return UTF_8
    return codec


def _detected_encoding(sample: bytes) -> str:
    try:
        sample.decode()
        return UTF_8
    except UnicodeDecodeError as damage:
        if damage.start >= len(sample) - 3:  # only the cut at the end of the sample
            return UTF_8
    late = declared_encoding(sample)
    if late:
        return late
    from resiliparse.parse.encoding import detect_encoding

    codec: str = detect_encoding(sample)
    return _SUPERSETS.get(codec, codec)
