"""Sound and film: title, artist, length, codec. Sound by tinytag; the containers of film, MP4 and Matroska, here."""

import io
import struct
from collections.abc import Iterator

import msgspec

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.formats import described, document_of

#: boxes or elements of a container that are looked at, and how deep
_MAX_BOXES, _MAX_DEPTH = 10_000, 12
_MP4_FOLDERS = frozenset((b"moov", b"trak", b"mdia", b"minf", b"stbl", b"udta", b"ilst"))
_MP4_TITLE, _MP4_ARTIST, _MP4_ALBUM = b"\xa9nam", b"\xa9ART", b"\xa9alb"
_EBML = b"\x1aE\xdf\xa3"
#: elements of Matroska: segment, info, tracks, track, tags, tag, simple tag
_MKV_FOLDERS = frozenset((0x18538067, 0x1549A966, 0x1654AE6B, 0xAE, 0x1254C367, 0x7373, 0x67C8))
_MKV_SCALE, _MKV_DURATION, _MKV_TITLE, _MKV_CODEC, _MKV_NAME, _MKV_VALUE = (
    0x2AD7B1,
    0x4489,
    0x7BA9,
    0x86,
    0x45A3,
    0x4487,
)


class MediaFacts(msgspec.Struct):
    """What is known of a file."""

    kind: str = ""
    title: str = ""
    artist: str = ""
    album: str = ""
    duration_s: float = 0.0
    codecs: list[str] = []


def summarise_media(source: Source) -> Document:
    content = source.content
    if content[4:8] == b"ftyp":
        facts = _mp4(content)
    elif content.startswith(_EBML):
        facts = _matroska(content)
    else:
        facts = _sound(content)
    if not facts.kind:
        return Document()
    return document_of(
        source,
        title=facts.title,
        description=described(
            facts.kind,
            facts.artist and f"by {facts.artist}",
            facts.album,
            clock(facts.duration_s),
            "/".join(dict.fromkeys(facts.codecs)),
        ),
    )


def clock(seconds: float) -> str:
    """3:07 or 1:02:03; nothing where the length is unknown."""
    if not 0 < seconds < 1e8:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _sound(content: bytes) -> MediaFacts:
    from tinytag import TinyTag, TinyTagException

    try:
        tag = TinyTag.get(file_obj=io.BytesIO(content))
    except (TinyTagException, ValueError, LookupError, OverflowError, ArithmeticError, TypeError, struct.error):
        return MediaFacts()
    kind = type(tag).__name__.strip("_")
    return MediaFacts("sound", tag.title or "", tag.artist or "", tag.album or "", tag.duration or 0.0, [kind])


def _mp4(content: bytes) -> MediaFacts:
    facts = MediaFacts("sound" if content[8:11] == b"M4A" else "film")
    tags: dict[bytes, str] = {}
    for kind, body in _boxes(content):
        if kind == b"mvhd" and len(body) >= 32:
            scale, length = struct.unpack(
                ">IQ" if body[0] == 1 else ">II", body[20:32] if body[0] == 1 else body[12:20]
            )
            facts.duration_s = length / scale if scale else 0.0
        elif kind == b"stsd" and len(body) >= 16:
            facts.codecs.append(body[12:16].decode("latin-1").strip())
        elif kind in (_MP4_TITLE, _MP4_ARTIST, _MP4_ALBUM) and body[4:8] == b"data":
            tags[kind] = body[16:1_000].decode("utf-8", "replace")
    facts.title, facts.artist, facts.album = (tags.get(kind, "") for kind in (_MP4_TITLE, _MP4_ARTIST, _MP4_ALBUM))
    return facts


def _boxes(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The boxes of an MP4 file with the beginnings of their contents, those inside of folders too."""
    view = memoryview(content)
    stack = [(0, len(content))]
    for _ in range(_MAX_BOXES):
        if not stack:
            return
        at, end = stack.pop()
        if at + 8 > end:
            continue
        size, kind, head = int.from_bytes(view[at : at + 4], "big"), bytes(view[at + 4 : at + 8]), 8
        if size == 1:
            size, head = int.from_bytes(view[at + 8 : at + 16], "big"), 16
        stop = end if size == 0 else min(at + max(size, head), end)
        stack.append((stop, end))
        if kind in _MP4_FOLDERS and len(stack) < _MAX_DEPTH:
            stack.append((at + head, stop))
        elif kind == b"meta" and len(stack) < _MAX_DEPTH:
            stack.append((at + head + 4, stop))
        else:
            yield kind, bytes(view[at + head : min(stop, at + head + 1_024)])


def _matroska(content: bytes) -> MediaFacts:
    facts = MediaFacts("film")
    scale, length, name = 1_000_000, 0.0, ""
    for kind, body in _ebml(content):
        if kind == _MKV_SCALE:
            scale = int.from_bytes(body[:8], "big")
        elif kind == _MKV_DURATION and len(body) in (4, 8):
            length = struct.unpack(">f" if len(body) == 4 else ">d", body)[0]
        elif kind == _MKV_TITLE:
            facts.title = body.decode("utf-8", "replace")
        elif kind == _MKV_CODEC:
            facts.codecs.append(body[:40].decode("latin-1").rpartition("_")[2])
        elif kind == _MKV_NAME:
            name = body.decode("latin-1").lower()
        elif kind == _MKV_VALUE and name == "artist":
            facts.artist = body.decode("utf-8", "replace")
    facts.duration_s = length * scale / 1e9
    return facts


def _ebml(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The elements of a Matroska file with the beginnings of their contents, those inside of folders too."""
    stack = [(0, len(content))]
    for _ in range(_MAX_BOXES):
        if not stack:
            return
        at, end = stack.pop()
        if at >= end:
            continue
        kind, at = _number(content, at, keep_mark=True)
        size, at = _number(content, at, keep_mark=False)
        if not kind or at > end:
            continue
        stop = end if size < 0 else min(at + size, end)
        stack.append((stop, end))
        if kind in _MKV_FOLDERS and len(stack) < _MAX_DEPTH:
            stack.append((at, stop))
        else:
            yield kind, content[at : min(stop, at + 1_024)]


def _number(content: bytes, at: int, *, keep_mark: bool) -> tuple[int, int]:
    """A number of variable length, and what follows it; -1 for a size that is unknown."""
    first = content[at] if at < len(content) else 0
    length = 9 - first.bit_length()
    if length > 8:
        return 0, at + 1
    value = int.from_bytes(content[at : at + length], "big")
    if keep_mark:
        return value, at + length
    value &= (1 << 7 * length) - 1
    return (-1 if value == (1 << 7 * length) - 1 else value), at + length
