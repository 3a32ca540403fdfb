"""Mail and news (RFC 5322, MIME): the part that a person reads, under the subject.

Written here because the standard library's reader takes minutes for some headers of half a megabyte. Only four header
fields count, and only their beginnings.

Invariant: time is linear in the length of the message, whatever it holds; nothing raises.
"""

import binascii
import quopri
import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.encoding import codec_of
from gcs.ports.summarise.html import summarise_html
from gcs.ports.summarise.text import summarise_text

#: bytes of the header fields of a message or a part, and of one field
_HEAD_BYTES, _FIELD_BYTES = 64 * 1024, 1_000
#: multiparts inside of multiparts, and parts of all of them together, that are looked at
_MAX_DEPTH, _MAX_PARTS = 8, 100
_HEAD_END = re.compile(rb"(?:\A|\n)\r?\n")
_FIELD = re.compile(
    rb"(subject|content-type|content-transfer-encoding|content-disposition)[ \t]*+:((?:[^\n]*+(?:\n[ \t]|\Z)?+)++)",
    re.I,
)
_PARAMETER = re.compile(r""";\s*+(charset|boundary)\s*+=\s*+(?:"([^"]*+)"|([^\s;"]++))""", re.I)


_FILE_NAME = re.compile(r""";\s*+(?:file)?name\s*+=\s*+(?:"([^"]*+)"|([^\s;"]++))""", re.I)


class _Part(msgspec.Struct, frozen=True):
    """A message, or a part of one."""

    fields: dict[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        return self.fields.get("content-type", "text/plain").partition(";")[0].strip().lower()

    def parameter(self, name: str) -> str:
        for key, quoted, plain in _PARAMETER.findall(self.fields.get("content-type", "")):
            if key.lower() == name:
                return str(quoted or plain)
        return ""


def summarise_mail(source: Source) -> Document:
    """The Document of a message: that of the part which a person reads, under the subject."""
    whole = _part(source.content)
    leaves = [part for part in islice(_leaves(whole, _MAX_DEPTH), _MAX_PARTS) if _is_read(part)]
    plain_first = sorted(leaves, key=lambda part: part.media_type != "text/plain")
    title = _decoded_words(whole.fields.get("subject", ""))
    if not plain_first:
        return Document(hrefs=[], title=title)
    part = plain_first[0]
    content_type = f"{part.media_type}; charset={part.parameter('charset')}"  # an unknown one counts as none
    read = summarise_html if part.media_type == "text/html" else summarise_text
    document = read(msgspec.structs.replace(source, content=_content(part), content_type=content_type))
    return msgspec.structs.replace(document, title=title or document.title)


def attachments(content: bytes) -> Iterator[tuple[str, str, bytes]]:
    """The parts that are not read as the message: (name, media type, content)."""
    for part in islice(_leaves(_part(content), _MAX_DEPTH), _MAX_PARTS):
        named = _FILE_NAME.search(part.fields.get("content-disposition", "")) or _FILE_NAME.search(
            part.fields.get("content-type", "")
        )
        if not _is_read(part) and (inside := _content(part)):
            name = _decoded_words((named[1] or named[2]) if named else "")
            yield name, part.media_type, inside


def _part(content: bytes) -> _Part:
    end = _HEAD_END.search(content)
    head, body = (content[: end.start()], content[end.end() :]) if end else (content, b"")
    fields: dict[str, str] = {}
    lines = head[:_HEAD_BYTES].replace(b"\r\n", b"\n")
    at = 0
    while at >= 0 and at < len(lines):
        if match := _FIELD.match(lines, at):
            value = b" ".join(match[2][:_FIELD_BYTES].split())
            fields.setdefault(match[1].decode().lower(), value.decode("utf-8", "replace"))
        at = lines.find(b"\n", match.end() - 1 if match else at) + 1 or -1
    return _Part(fields, body)


def _leaves(part: _Part, depth: int) -> Iterator[_Part]:
    """The parts that hold no others."""
    boundary = part.parameter("boundary")
    if not part.media_type.startswith("multipart/") or not boundary:
        yield part
        return
    if depth:
        _, *inner = part.body.split(b"--" + boundary.encode(), _MAX_PARTS)
        for each in inner:
            if not each.startswith(b"--"):  # the end of all
                yield from _leaves(_part(each.lstrip(b" \t").removeprefix(b"\r").removeprefix(b"\n")), depth - 1)


def _is_read(part: _Part) -> bool:
    disposition = part.fields.get("content-disposition", "").lower()
    return part.media_type in ("text/plain", "text/html") and not disposition.startswith("attachment")


def _content(part: _Part) -> bytes:
    match part.fields.get("content-transfer-encoding", "").lower():
        case "quoted-printable":
            return quopri.decodestring(part.body)
        case "base64":
            try:
                return binascii.a2b_base64(part.body)
            except binascii.Error:
                return b""
    return part.body


def _decoded_words(subject: str) -> str:
    """A subject with its encoded words (RFC 2047) decoded."""
    from email.header import decode_header  # slow to load, and seldom needed

    if "=?" not in subject:
        return subject
    try:
        words = decode_header(subject)
    except ValueError:  # no base64
        return subject
    decoded = (
        word.decode(codec_of(label or "") or "utf-8", "replace") if isinstance(word, bytes) else word
        for word, label in words
    )
    return " ".join("".join(decoded).split())
