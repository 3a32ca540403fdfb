"""scripts/fuzz large [WORD …]: inputs of megabytes, mostly one part repeated, for which chance has no room.

Each is read in a process of its own. What takes CPU time or memory out of proportion shows here: 9 KB of a workbook
once took 6.7 GB. Prints the CPU seconds and the megabytes of each input, and fails if one takes more than the limits.
"""

import argparse
import io
import itertools
import os
import resource
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from .readers import PART, READERS, seeds

#: of one input, and what it may take: the watchdog's limit, and a quarter of a pod
SIZE_BYTES, LIMIT_S, LIMIT_BYTES = 15 << 20, 10.0, 512 << 20
#: CPU seconds after which the kernel ends a process
_ENDED_S = 60
_OFFICE = b"xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'"
_SHEETS = b"<workbook %b><sheets><sheet name='a' r:id='r1'/></sheets></workbook>" % _OFFICE
_SHEET_PART = b"<Relationships><Relationship Id='r1' Type='a/worksheet' Target='s.xml'/></Relationships>"

#: reader and what surrounds the part → parts that are repeated
_REPEATED: dict[tuple[str, bytes, bytes], tuple[bytes, ...]] = {
    ("html-text", b"", b""): (
        *(
            b"<div>",
            b"<p>",
            b"</p>",
            b"<a href=x>y",
            b"<b><i></b></i>",
            b"<table><td><a href=x>",
            b"<li>",
            b"a ",
            b"&a",
        ),
        *(b"<!--", b"<svg><g><title>", b"<select><option>", b"<template>", b"<title>a</title>", b"<b a=1><i b=2><p>"),
        *(
            b"<meta name=robots content=a>",
            b"<meta name=date content=jan>",
            b"<meta name=keywords content=a,b>",
            b"<i class=a id=b></i>",
            b"<?",
            b"\xff",
            b"\n",
            b"<script>",
            b"<base href=x>",
        ),
    ),
    ("html-text", b"<p class='", b"'>words"): (b"a ",),
    ("html-text", b"<meta name=robots content='", b"'>words"): (b"aa,",),
    ("html-text", b"<meta name=description content='", b"'>words"): (b"aa ",),
    ("html-text", b"<a href=x rel='", b"'>words"): (b"aa ",),
    ("html-text", b"<title>", b"</title>words"): (b"aa ",),
    ("html-text", b"<p ", b">words"): (b"a=1 ",),
    ("html-text", b"<meta http-equiv=refresh content='1", b";url=x'>"): (b" ",),
    ("html-text", b"<img srcset='", b"'>"): (b"a 1x, ",),
    ("html-text", b"<a href='", b"'>"): (b"a", b"../", b"%", b"\t", b"?a&"),
    ("xml", b"<urlset>", b""): (b"<x/>", b"<x a='' b='' c=''/>", b"<base", b"&", b"<url><loc>h</loc></url>", b"<loc>"),
    ("xml", b"<urlset><url>", b""): (b"<loc>h</loc>", b"<image><loc>h</loc></image>"),
    ("feed", b"<rss>", b""): (b"<channel><link>http://a/b</link></channel>", b"<item><title>a</title></item>"),
    ("feed", b"<rss><channel>", b""): (b"<link>http://a/b</link>", b"<title>a</title>"),
    ("feed", b"<rss><channel><item><title>", b""): (b"&lt;", b"a &lt;b&gt; ", b"aa "),
    ("svg", b"<svg>" + b"<title>" * 250, b""): (b"<a/>",),
    ("svg", b"<svg>" + b"<desc>" * 250, b""): (b"<a/>",),
    ("mail", b"Content-Type: multipart/mixed; boundary=x\n\n", b""): (b"--x\n\n", b"--xContent-Type: text/html\n\n"),
    ("mail", b"Subject: ", b"\n\nx"): (b" ", b"=?utf-8?q?a?= ", b"=?"),
    ("rtf", rb"{\rtf1", b""): (b"{", rb"\par", rb"\~", rb"\u1 ", rb"\a ", b"HYPERLINK "),
    ("markdown", b"", b""): (
        b"[",
        b"](",
        b"[a](b) ",
        b"![a](b 'c'",
        b"```\n",
        b"`",
        b"# ",
        b"*",
        b"ab\n",
        b"http://a ",
    ),
    ("html-text", b"", b"</noframes>"): (b"<noframes><a href=x>", b"<embed src=x>", b"<option value=/x>"),
    ("csv", b"a,b\n", b""): (b",", b"\n", b'"', b"a,"),
    ("json", b"[", b"1]"): (b"[", b"1,", b'{"a":{}},', b'"a",', b"9"),
    ("docx", b"<w:document xmlns:w='w'>", b""): (b"<w:p><w:br/></w:p>", b"<w:p>", b"<w:t/>"),
    ("odt", b"<d><p>", b""): (b"<a/>", b"<table-row/>", b"<table-cell><p>x</p></table-cell>"),
    ("xlsx", PART.join((_SHEETS, _SHEET_PART, b"<w><row>")), b"</row></w>"): (b"<c><v>1</v></c>", b"<c t='inlineStr'>"),
    ("media", b"\0\0\0\x18ftypisom" + bytes(12), b""): (b"\0\0\0\x08moov", b"\0\0\0\x10stsdaaaaaaaa"),
    ("media", b"\x1aE\xdf\xa3\x80", b""): (b"\x86\x81a", b"\x18\x53\x80\x67\xff"),
    ("media", b"ID3\3\0\0\0\0\0\0", b""): (b"\xff\xfb", b"\xff\xfb\x90\0"),
    ("robots", b"User-agent: *\n", b""): (
        b"User-agent: *\n",
        b"Disallow: /*a*b\n",
        b"Sitemap: a\n",
        b"\r",
        b"Disallow: /%\n",
    ),
    ("search", b"", b""): (
        *(
            "\u0327\u0301".encode(),
            "\uff9e\u0327".encode(),
            "\ufdfa".encode(),
            "\u4e2d".encode(),
            b"text ",
            b"a.\n",
            b"a",
        ),
    ),
    ("query", b"", b""): (b"a ", b"(", b"-", b'"a" ', b"title:"),
    ("requisites", b"<svg>", b""): (b"<style>a", b"<p style='url(a)'>", b"<style>url(a)</style>", b"<g>"),
    ("requisites", b"", b""): (b"url(", b"/*", b"@import ", b"url( ", b"url('", b"@import 'a';"),
    ("html", b"<a href='//", b".test/'>x</a>" * 2): ("\u0327\u0301".encode(), b"%CC%A7%CC%81"),
    ("log", b"", b""): (b"P", bytes(8)),
    ("coding", b"\0", b""): (b"\x1f\x8b\x08",),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What an input took; `how_it_ended` is "" unless its process died."""

    name: str
    seconds: float
    size_bytes: int
    how_it_ended: str = ""


def inputs(size_bytes: int) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    """Name, reader, and the function that makes the input."""
    for (reader, head, tail), parts in _REPEATED.items():
        for part in parts:
            yield f"{reader}: {_short(head)} {_short(part)}", reader, _repeated(head, part, tail, size_bytes)
    count = size_bytes // 12
    yield "xml: attributes", "xml", lambda: b"<urlset " + b" ".join(b"b%d=''" % each for each in range(count)) + b"/>"
    yield (
        "html-text: attributes",
        "html-text",
        lambda: b"<p " + b" ".join(b"b%d" % each for each in range(count)) + b">",
    )
    yield "html-text: fonts", "html-text", lambda: b"".join(b"<font color=%d><p>" % n for n in range(count // 2))
    yield "response: base", "response", lambda: _links(size_bytes)
    yield "response: hosts", "response", lambda: _hosts(size_bytes)
    yield "tar: digits", "tar", lambda: _pax(size_bytes)
    yield "xlsx: one string", "xlsx", lambda: _one_string(size_bytes)


def _repeated(head: bytes, part: bytes, tail: bytes, size_bytes: int) -> Callable[[], bytes]:
    return lambda: head + part * (size_bytes // len(part)) + tail


def _links(size_bytes: int) -> bytes:
    """A long base, and many links."""
    base = b"http://h.test/" + b"a" * 16_000
    return b"\n\n<base href='%b/'>" % base + b"<a href=1>" * (size_bytes // 10)


def _hosts(size_bytes: int) -> bytes:
    """Links to hosts of letters with many marks."""
    host = "e\u0327\u0301" * 10_000
    links = (f"<a href='http://{host}{number}.test/'>" for number in range(size_bytes // 50_000 + 1))
    return b"Content-Type: text/html; charset=utf-8\n\n" + "".join(links).encode()


def _pax(size_bytes: int) -> bytes:
    """A tar file whose extended header is one number."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        header = tarfile.TarInfo("h")
        header.type, header.size = tarfile.XHDTYPE, size_bytes
        archive.addfile(header, io.BytesIO(b"1" * size_bytes))
        archive.addfile(tarfile.TarInfo("a.html"))
    return out.getvalue()


def _one_string(size_bytes: int) -> bytes:
    """A workbook whose cells all name the same string."""
    cells = b"<w>" + (b"<row>" + b"<c t='s'><v>0</v></c>" * 1_000 + b"</row>") * 20 + b"</w>"
    return PART.join((_SHEETS, _SHEET_PART, cells, b"<sst><si><t>" + b"x" * (size_bytes // 2) + b"</t></si></sst>"))


def _short(data: bytes) -> str:
    text = data[-24:].decode("latin-1")
    return repr(text)[1:-1] if text.isprintable() else data[-8:].hex()


def measure(name: str, reader: str, make: Callable[[], bytes]) -> Measured:
    """Read an input in a new process. Small inputs have loaded everything before."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if not pid:
        data = make()
        resource.setrlimit(resource.RLIMIT_CPU, (_ENDED_S, _ENDED_S))
        before, begun_s = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        try:
            READERS[reader](data)
        finally:
            seconds = time.process_time() - begun_s
            size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            os.write(theirs, msgspec.json.encode((seconds, size << 10)))
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        answer = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code or not answer:
        return Measured(name, _ENDED_S, 0, f"ended with {code}")
    seconds, size_bytes = msgspec.json.decode(answer, type=tuple[float, int])
    return Measured(name, seconds, size_bytes)


def warm() -> None:
    """Load every library, so that its memory counts for no input."""
    for data in itertools.chain(*list(seeds().values())[:40]):
        for read in READERS.values():
            read(data)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz large", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only inputs whose name has one of these")
    parser.add_argument("--mb", type=float, default=SIZE_BYTES / (1 << 20), help="of each input [%(default)g]")
    options = parser.parse_args()
    warm()
    failed = 0
    for name, reader, make in inputs(int(options.mb * (1 << 20))):
        if options.words and not any(word in name for word in options.words):
            continue
        each = measure(name, reader, make)
        is_bad = each.seconds > LIMIT_S or each.size_bytes > LIMIT_BYTES or each.how_it_ended != ""
        failed += is_bad
        print(
            f"{each.seconds:6.2f} s {each.size_bytes >> 20:5} MB  {'FAILED ' * is_bad}{name} {each.how_it_ended}",
            flush=True,
        )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
