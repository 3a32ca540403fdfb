"""The key under which web archives index a URL (pywb and OpenWayback look pages up by it).

Our own sort keys (`core.sortkey`) are one-to-one with URLs; this one is not: archives take many spellings of
an address for the same page. Folded are the case, www., default ports, user names, percent-escapes, empty and
dot segments, a trailing slash, well-known session ids, and the order of the parameters.

    http://www.Example.com:80/a//B/?z=1&a=2   →   com,example)/a/b?a=2&z=1

Invariant: the same key as that of pywb's indexer for every canonical http(s) URL (a test compares them).
"""

import re
from urllib.parse import quote_from_bytes, unquote_to_bytes

from gcs.core.sortkey import split_port

_WWW = re.compile(r"^www\d*\.")
#: left as they are: printable ASCII but for space, # and %
_SAFE = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_SESSION_IN_QUERY = re.compile(
    r"(?:(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}"
    r"|aspsessionid[a-z]{8}=[a-z]{24}"
    r"|cfid=[^&]+&cftoken=[^&]+)(?:&|$)",
    re.IGNORECASE,
)
#: ASP.NET writes its session into the path: /(S(24 characters))/page.aspx
_SESSION_IN_PATH = re.compile(r"(.*/)\((?:(?:[a-z]\([0-9a-z]{24}\))+|[0-9a-z]{24})\)/([^?]+\.aspx.*)")


def surt(url: str) -> str:
    """The archive key of a canonical http(s) URL."""
    scheme, _, rest = url.partition("#")[0].partition("://")
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    host, port = split_port(authority.rpartition("@")[2].lower())
    if port == {"http": ":80", "https": ":443"}.get(scheme):
        port = ""
    if not host.startswith("["):
        host = ",".join(reversed(_WWW.sub("", host.strip(".")).split(".")))
    key = f"{host.strip('[]')}{port}){_path(path)}"
    query = _query(query)
    return f"{key}?{query}" if query else key


def _path(path: str) -> str:
    kept: list[bytes] = []
    *folders, last = _unquote(path).split(b"/")
    for segment in folders:
        if segment == b".." and kept:
            kept.pop()
        elif segment not in (b"", b"."):
            kept.append(segment)
    text = quote_from_bytes(b"/" + b"/".join([*kept, last]), _SAFE).lower()
    if match := _SESSION_IN_PATH.fullmatch(text):
        text = match[1] + match[2]
    return text.removesuffix("/") or "/"


def _query(query: str) -> str:
    text = _SESSION_IN_QUERY.sub("", quote_from_bytes(_unquote(query), _SAFE), count=1).lower()
    pairs = sorted(parameter.split("=", 1) for parameter in text.split("&"))
    return "&".join(map("=".join, pairs))


def _unquote(text: str) -> bytes:
    data = text.encode()
    while (plain := unquote_to_bytes(data)) != data:
        data = plain
    return data
