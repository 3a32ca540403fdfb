"""Tokens and sort keys: the order of the URL tree, in which every superpage is one contiguous range.

A URL is a path in a tree of tokens: the labels of the host right to left, then the *origin token*
(scheme, and the port where it is not the default one), then the segments of the path left to right,
then the query:

    https://www.example.com/a/b/?x=1   →   com  example  www  /https  a  b  ""  ?x=1
    http://127.0.0.5:8080/             →   127.0.0.5  /http:8080  ""

The sort key joins the tokens by a NUL byte. No token of a canonical URL holds a byte below 0x21, so
comparing keys as bytes is comparing token tuples, a subtree is the range [key, key + 0x01), and an
interval of a node's children is a range too. Keys and canonical URLs are in one-to-one correspondence.

Invariant: url_of(sort_key(u)) == u for every canonical u; sort_key(u) < sort_key(v) ⇔ tokens(u) < tokens(v).
"""

from functools import lru_cache

SEPARATOR = b"\x00"
#: first byte above the separator: node key + this = end of the node's subtree
SUBTREE_END = b"\x01"
#: the whole key space as a range; no key reaches 0xff because canonical URLs are ASCII
FIRST_KEY, LAST_KEY = b"", b"\xff"
#: a host's key and these: the range of its pages
PAGES, PAGES_END = b"\x00/http", b"\x000"


def tokens(url: str) -> tuple[str, ...]:
    """The path of a canonical URL in the URL tree."""
    return tuple(sort_key(url).decode().split("\x00"))


def sort_key(url: str) -> bytes:
    """The key of a canonical http(s) URL (one that `core.url.canonical.canonical` returned)."""
    slash = url.index("/", 8)
    site = _origin_key(url[:slash])
    mark = url.find("?", slash)
    if mark < 0:
        return (site + url[slash:].replace("/", "\x00")).encode()
    path = url[slash:mark].replace("/", "\x00")
    return f"{site}{path}\x00{url[mark:]}".encode()


@lru_cache(maxsize=8192)
def _origin_key(origin: str) -> str:
    """The tokens of an origin, joined: links come in runs of a few origins."""
    scheme, _, authority = origin.partition("://")
    host, port = split_port(authority)
    # an address is one token, not a hierarchy
    is_address = host[0] == "[" or host[host.rfind(".") + 1 :].isdigit()
    labels = host if is_address else "\x00".join(reversed(host.split(".")))
    return f"{labels}\x00/{scheme}{port}"


def url_of(key: bytes) -> str:
    hosts, _, rest = key.decode().partition("\x00/")
    origin, _, path = rest.partition("\x00")
    scheme, colon, port = origin.partition(":")
    host = ".".join(hosts.split("\x00")[::-1])
    segments, mark, query = path.partition("\x00?")
    return f"{scheme}://{host}{colon}{port}/" + segments.replace("\x00", "/") + (f"?{query}" if mark else "")


def origin_of(url: str) -> str:
    """Scheme, host and port of a canonical URL, without a slash at the end."""
    return url[: url.index("/", 8)]


def split_port(authority: str) -> tuple[str, str]:
    """The host and the port (":8080", or "" where it is the default) of a canonical authority."""
    host, colon, port = authority.rpartition(":")
    if not colon or port[-1:] == "]":  # no colon, or the last one is inside an IPv6 address
        return authority, ""
    return host, f":{port}"


def host_of_key(key: bytes) -> bytes:
    """The part of a key that names the host: what politeness is owed to."""
    return key[: key.index(b"\x00/")]


def host_key(host: str) -> bytes:
    """The key of a host name or address, without port: the node under which all its URLs lie."""
    if host[:1] == "[" or host[host.rfind(".") + 1 :].isdigit():
        return host.encode()
    return "\x00".join(host.split(".")[::-1]).encode()


def host_name(key: bytes) -> str:
    return ".".join(key.decode().split("\x00")[::-1])


def subtree(prefix: bytes) -> tuple[bytes, bytes]:
    """The range [low, high) of all keys at or below the node with this key; the root's is the whole space."""
    return (prefix, prefix + SUBTREE_END) if prefix else (FIRST_KEY, LAST_KEY)
