"""CDXJ: the sorted index by which a replay tool (pywb) finds a page in WARC files.

    com,example)/a 20260131120000 {"url", "mime", "status", "digest", "length", "offset", "filename"}

Made from the WARC files themselves, so that everything in them is found, robots.txt included. Sorted as bytes,
in runs that are merged, so that memory is bounded however many records there are.
"""

import heapq
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from tempfile import TemporaryFile
from typing import BinaryIO
from urllib.parse import quote_from_bytes, unquote_to_bytes

from gcs.core.url.sortkey import split_port
from gcs.ports.records.warc import heads, members

#: lines sorted in memory at a time
_RUN_LINES = 200_000
_WWW = re.compile(r"^www\d*\.")
#: left as they are: printable ASCII but for space, # and %
_SAFE = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_SESSION_IN_QUERY = re.compile(
    r"(?:(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}"
    r"|aspsessionid[a-z]{8}=[a-z]{24}"
    r"|cfid=[^&]{1,128}+&cftoken=[^&]{1,128}+)(?:&|$)",
    re.IGNORECASE,
)
#: ASP.NET writes its session into the path: /(S(24 characters))/page.aspx
_SESSION_IN_PATH = re.compile(r"/\((?:(?:[a-z]\([0-9a-z]{24}\))++|[0-9a-z]{24})\)(?=/)")


def surt(url: str) -> str:
    """The key of a canonical http(s) URL, under which web archives index it (pywb and OpenWayback look it up so)."""
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
    for session in reversed([*_SESSION_IN_PATH.finditer(text)]):
        page = text.find(".aspx", session.end() + 2)
        if page > 0 and "?" not in text[session.end() : page]:
            text = text[: session.start()] + text[session.end() :]
            break
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


def index(file: BinaryIO, file_name: str, ends: dict[str, int] | None = None) -> Iterator[bytes]:
    """A line, unsorted, for every record of a WARC file that can be replayed; `ends`: where its last record ends."""
    for member in members(file):
        if ends is not None:
            ends[file_name] = member.offset + member.size_bytes
        warc, http = heads(member.head)
        kind = warc.fields.get("warc-type")
        if kind not in ("response", "revisit", "resource"):
            continue
        status = http.line.split(" ")[1] if http.line else "200" if kind == "resource" else ""
        if status == "304":  # as older versions wrote it: a replay tool would show it, and not the copy it confirms
            continue
        url = warc.fields["warc-target-uri"]
        fields = {"url": url, "mime": http.fields.get("content-type", "").partition(";")[0].strip() or "unk"}
        if kind == "revisit":
            fields["mime"] = "warc/revisit"
        elif status:
            fields["status"] = status
        if digest := warc.fields.get("warc-payload-digest"):
            fields["digest"] = digest.removeprefix("sha1:")
        fields |= {"length": str(member.size_bytes), "offset": str(member.offset), "filename": file_name}
        timestamp = re.sub(r"\D", "", warc.fields["warc-date"])[:14]
        yield f"{surt(url)} {timestamp} {json.dumps(fields)}\n".encode()


def merge(lines: Iterator[bytes], run_lines: int = _RUN_LINES) -> Iterator[bytes]:
    """All lines in byte order, spilled to temporary files where they are many."""
    with ExitStack() as open_files:
        runs: list[Iterator[bytes]] = []
        while run := sorted(islice(lines, run_lines)):
            if not runs and len(run) < run_lines:
                yield from run
                return
            file = open_files.enter_context(TemporaryFile())
            file.writelines(run)
            file.seek(0)
            runs.append(iter(file))
        yield from heapq.merge(*runs)
