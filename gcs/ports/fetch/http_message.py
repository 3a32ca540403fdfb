"""HTTP messages, for both engines: the head of a request, the head of an answer, and the content codings of its body.

Both engines send exactly what `RequestHead` composes (a test holds it against what a server received), so that the
WARC can keep the request without an engine's help. Text of heads is Latin-1, one character a byte: nothing is lost,
nothing fails.

`decode` goes from the body as sent to the bytes of the page, never past a limit. It is as lenient as browsers are: a
stream cut short gives what it held, bytes after its end and a wrong check sum are overlooked, `deflate` may lack its
zlib wrapper, and misplaced words (a charset, `chunked`) count as no coding. A damaged stream and an unknown coding are
errors; `readable` gives what could be decoded all the same, and says why it is not all.

Invariant: memory stays within the limit plus the body, whatever the body unfolds to.
"""

import re
from collections.abc import Callable
from typing import cast

import msgspec
from isal import isal_zlib

from gcs.core.page.values import TOO_LONG, UNREADABLE, FailureKind, Request, Response
from gcs.errors import CodecError
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.guard import forbidden_host

#: what a validator from an earlier answer may hold; anything else is not sent back (it could smuggle a header)
_VALIDATOR = re.compile(r"[\x20-\x7e]+")
#: what engines offer; `deflate`, which servers understand in two ways, is decoded but not asked for
ACCEPT_ENCODING = "gzip, br, zstd"

#: goes before what else is accepted: servers that honour q-values take the first of the best
_MARKDOWN = "text/markdown,"
NOT_HTTP = "the server sent something that is not HTTP"
#: said in Content-Encoding by real servers, meaning nothing
_NO_CODING = frozenset(
    ("", "identity", "none", "null", "utf-8", "utf8", "iso-8859-1", "binary", "8bit", "chunked", "aws-chunked")
)
#: bytes by which a content may be larger than its body where it has to wait
_FOLDED_BYTES = 1 << 20
#: a stack of codings higher than this is an attack
_MAX_CODINGS = 3
#: gzip members after the first are read in slices, so that a body of many tiny ones does not cost its square
_SLICE_BYTES = 1 << 16
#: a damaged stream is read again in steps
_STEP_BYTES = 64
_MAX_MEMBERS = 10_000
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP, _ZLIB, _RAW = 31, 15, -15  # wbits
_StreamError = cast(type[Exception], isal_zlib.error)  # which its stub types as an instance


class RequestHead:
    """Composes the heads of one engine's requests."""

    def __init__(self, settings: FetchSettings) -> None:
        fields = [
            ("User-Agent", settings.user_agent),
            ("Accept", f"{_MARKDOWN}{settings.accept}" if settings.markdown else settings.accept),
            ("Accept-Encoding", ACCEPT_ENCODING),
            ("From", settings.from_address),
            *((name, value.strip()) for name, _, value in (line.partition(":") for line in settings.headers)),
        ]
        #: what follows Host in every request, in this order
        self.fields: tuple[tuple[str, str], ...] = tuple((name, value) for name, value in fields if value)
        self._common = "".join(f"{name}: {value}\r\n" for name, value in self.fields)
        self._judges_hosts = settings.proxy is not None and not settings.allow_private
        # an HTTP proxy is asked for the whole URL; inside a tunnel (https) or through SOCKS, the server for the path
        self._absolute = settings.proxy is not None and settings.proxy.startswith("http")

    def refusal(self, url: str) -> tuple[FailureKind, str] | None:
        """Why a URL is not asked for: it is not canonical, or names a host that the guard forbids to a proxy."""
        if wrong := reject(url):
            return FailureKind.PROTOCOL, wrong
        if self._judges_hosts and (reason := forbidden_host(url.split("/", 3)[2])):
            return FailureKind.FORBIDDEN_ADDRESS, reason
        return None

    def compose(self, request: Request) -> bytes:
        """The head as sent, by HTTP/2 or not: archives keep HTTP/1.1 messages. A proxy's password is no part of it."""
        url = request.url
        scheme, _, rest = url.partition("://")
        authority, _, path = rest.partition("/")
        target = url if self._absolute and scheme == "http" else f"/{path}"
        head = f"GET {target} HTTP/1.1\r\nHost: {authority}\r\n{self._common}"
        if has_own_headers(request):
            head += "".join(f"{name}: {value}\r\n" for name, value in own_headers(request))
        return f"{head}\r\n".encode("latin-1")


def has_own_headers(request: Request) -> bool:
    """Whether the request has headers that others have not."""
    return request.etag is not None or request.last_modified is not None or bool(request.headers)


def own_headers(request: Request) -> list[tuple[str, str]]:
    """The conditions of a request, and the headers that plug-ins want."""
    return [*conditions(request), *request.headers]


def conditions(request: Request) -> list[tuple[str, str]]:
    """The headers that allow the server to answer 304; with none of them a 304 is an error."""
    validators = (("If-None-Match", request.etag), ("If-Modified-Since", request.last_modified))
    return [(name, value) for name, value in validators if value and _VALIDATOR.fullmatch(value)]


def reject(url: str) -> str | None:
    """Why this URL cannot be asked for as it stands; None for every canonical http(s) URL without credentials."""
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0]
    if scheme not in ("http", "https"):
        return f"the scheme {scheme[:20]!r} is not fetched"
    if "@" in authority:
        return "a URL with a user name is not fetched"
    if not authority or "/" not in rest or not url.isascii() or not url.isprintable() or " " in url or "#" in url:
        return "the URL is not in canonical form"
    return None


class ResponseHead:
    """The parts of a status line and its headers. `coding` is the Content-Encoding ("" where there is none)."""

    __slots__ = ("coding", "headers", "reason", "status", "version")

    def __init__(self, lines: list[bytes]) -> None:
        """From the lines as libcurl hands them over: interim heads first, trailers perhaps after the empty line.

        ValueError: there is no status line.
        """
        text = b"".join(lines).decode("latin-1").replace("\r\n", "\n")
        while True:
            head, _, rest = text.partition("\n\n")
            status_line, *fields = head.split("\n")
            version, _, status = status_line.partition(" ")
            code, _, reason = status.partition(" ")
            if code[:1] != "1" or not rest.startswith("HTTP/"):
                break
            text = rest
        self.version = version[5:]
        self.status = int(code)
        self.reason = reason.strip()
        self.coding = ""
        headers = []
        for field in fields:
            name, colon, value = field.partition(":")
            if colon:
                value = value.strip()
                headers.append((name, value))
                if len(name) == 16 and name.lower() == "content-encoding":
                    self.coding = f"{self.coding},{value}" if self.coding else value
        self.headers = tuple(headers)


# -- content codings


class ContentError(CodecError):
    """The body cannot be decoded; `kind` says whether it is too large or damaged, `content` is what was decoded."""

    def __init__(self, kind: FailureKind, message: str, content: bytes = b"") -> None:
        super().__init__(message)
        self.kind, self.content = kind, content


def readable(body: bytes, coding: str, limit_bytes: int) -> tuple[bytes, str]:
    """As much of the content as can be decoded, and why that is not all: a reason of WARC-Truncated, or ""."""
    try:
        return decode(body, coding, limit_bytes), ""
    except ContentError as error:
        return error.content, TOO_LONG if error.kind is FailureKind.TOO_LARGE else UNREADABLE


def folded(response: Response) -> Response:
    """The answer without its content, where that takes much more memory than its body; `unfolded` makes it again."""
    if len(response.content) - len(response.body) <= _FOLDED_BYTES or not _coding_of(response):
        return response
    return msgspec.structs.replace(response, content=b"")


def unfolded(response: Response, limit_bytes: int) -> Response:
    """The answer with its content."""
    if response.content or not response.body or not (coding := _coding_of(response)):
        return response
    return msgspec.structs.replace(response, content=readable(response.body, coding, limit_bytes)[0])


def _coding_of(response: Response) -> str:
    return ",".join(response.header_values("content-encoding"))


def decode(body: bytes, coding: str, limit_bytes: int) -> bytes:
    """The body with its Content-Encoding removed; the same object where there is nothing to remove."""
    names = [name for part in coding.split(",") if (name := part.strip().lower()) not in _NO_CODING]
    if len(names) > _MAX_CODINGS:
        raise ContentError(FailureKind.ENCODING, f"the answer has {len(names)} content codings: {coding[:80]!r}")
    for left in range(len(names) - 1, -1, -1):
        if not body:
            break
        name = names[left]
        unfold = _DECODERS.get(name)
        if unfold is None:
            raise ContentError(FailureKind.ENCODING, f"the answer has an unknown content coding: {name[:40]!r}")
        try:
            body = unfold(body, limit_bytes)
        except ContentError as error:
            if left:  # what was decoded has another coding
                error.content = b""
            raise
    if len(body) > limit_bytes:
        raise _too_large(limit_bytes, body)
    return body


def _gzip(body: bytes, limit_bytes: int) -> bytes:
    first, rest = _inflate(body, _GZIP, limit_bytes)
    if rest[:2] != _GZIP_MAGIC:
        return first
    pieces, room = [first], limit_bytes - len(first)
    stream = isal_zlib.decompressobj(wbits=_GZIP)
    members = 1
    for start in range(0, len(rest), _SLICE_BYTES):
        data = rest[start : start + _SLICE_BYTES]
        while data:
            try:
                piece = stream.decompress(data, room + 1)
            except _StreamError:  # garbage after a whole member
                return b"".join(pieces)
            room -= len(piece)
            pieces.append(piece)
            if room < 0:
                raise _too_large(limit_bytes, b"".join(pieces))
            data = stream.unused_data
            if stream.eof:
                members += 1
                if members > _MAX_MEMBERS:
                    why = f"the gzip answer has over {_MAX_MEMBERS} members"
                    raise ContentError(FailureKind.ENCODING, why, b"".join(pieces))
                stream = isal_zlib.decompressobj(wbits=_GZIP)
    return b"".join(pieces)


def _deflate(body: bytes, limit_bytes: int) -> bytes:
    # RFC 9110 means the zlib format (its first two bytes are a multiple of 31); some servers send the bare stream
    wrapped = body[0] & 15 == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return _inflate(body, _ZLIB if wrapped else _RAW, limit_bytes)[0]


def _inflate(body: bytes, wbits: int, limit_bytes: int) -> tuple[bytes, bytes]:
    """The first stream of the body, and what follows it."""
    stream = isal_zlib.decompressobj(wbits=wbits)
    try:
        content: bytes = stream.decompress(body, limit_bytes + 1)
    except _StreamError:
        # perhaps only the check sum at the end is wrong: without it, it is not looked at
        stream = isal_zlib.decompressobj(wbits=wbits)
        try:
            content = stream.decompress(body[: -8 if wbits == _GZIP else -4], limit_bytes + 1)
        except _StreamError as error:
            why, before = f"the compressed answer is damaged ({error})", _before_damage(body, wbits, limit_bytes)
            raise ContentError(FailureKind.ENCODING, why, before) from error
    if len(content) > limit_bytes:
        raise _too_large(limit_bytes, content)
    if not content and not stream.eof:
        raise ContentError(FailureKind.ENCODING, "the compressed answer ends before its first byte")
    return content, stream.unused_data


def _before_damage(body: bytes, wbits: int, limit_bytes: int) -> bytes:
    """What a damaged stream holds up to its damage, to the nearest few bytes of input."""
    stream = isal_zlib.decompressobj(wbits=wbits)
    pieces: list[bytes] = []
    room = limit_bytes
    for start in range(0, len(body), _STEP_BYTES):
        try:
            pieces.append(stream.decompress(body[start : start + _STEP_BYTES], room + 1)[:room])
        except _StreamError:
            break
        room -= len(pieces[-1])
        if room <= 0:
            break
    return b"".join(pieces)


def _brotli(body: bytes, limit_bytes: int) -> bytes:
    import brotli  # type: ignore[import-untyped, unused-ignore]  # loaded by the first answer that needs it

    try:
        content: bytes = brotli.Decompressor().process(body, output_buffer_limit=limit_bytes + 1)
    except brotli.error as error:
        raise ContentError(FailureKind.ENCODING, f"the brotli answer is damaged ({error})") from error
    return content


def _zstd(body: bytes, limit_bytes: int) -> bytes:
    import zstandard  # loaded like brotli

    try:
        # 8 MB is the window that RFC 9659 allows on the web
        reader = zstandard.ZstdDecompressor(max_window_size=8 << 20).stream_reader(body, read_across_frames=True)
        content: bytes = reader.read(limit_bytes + 1)
    except zstandard.ZstdError as error:
        raise ContentError(FailureKind.ENCODING, f"the zstd answer is damaged ({error})") from error
    return content


def _too_large(limit_bytes: int, content: bytes) -> ContentError:
    why = f"the answer unfolds to more than {limit_bytes:,} bytes"
    return ContentError(FailureKind.TOO_LARGE, why, content[:limit_bytes])


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "x-deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
