"""What the guard promises: no page of any bytes takes its parser much memory or time, and honest pages stay whole."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from turbohtml import parse

from gcs.ports.summarise import Depth, Options, Source
from gcs.ports.summarise.html import summarise_html
from gcs.ports.summarise.markup_guard import bounded, guarded
from tests.limits import cpu_limit

COUNT = 40_000


def fonts(count: int) -> bytes:
    return b"".join(b"<font color=%d><p>" % number for number in range(count))


HOSTILE = {
    "nested blocks": b"<div>" * COUNT,
    "nested blocks with text": b"<div><p>Some words, of which the main part could be made." * COUNT,
    "nested lists": b"<ul><li>" * COUNT,
    "nested tables": b"<table><tr><td>words of a cell, and more" * COUNT,
    "nested lines": b"<pre>" * COUNT,
    "nested emphasis": b"<article><p>Words, to be, the main part.</p>" + b"<em><div>x" * COUNT,
    "nested drawings": b"<svg>" + b"<g><title>x</title>" * COUNT,
    "formatting": fonts(COUNT // 4),
    "formatting in a row": b"<p>" + b"".join(b"<font color=%d>" % n for n in range(900)) + b"<p>x" * COUNT,
    "formatting in a comment": b"<!-- <b x=' -->" + fonts(2_000),
    "formatting of every name": b"<b><i><u><s><em><tt><big><code><small><strike><strong>" * 3 + b"<p>x" * COUNT,
    "formatting with attributes": b"".join(
        b"<FONT color=%d %b>" % (number, b" ".join(b"a%d" % each for each in range(50))) for number in range(500)
    )
    + b"<p>x" * 2_000,
    "wide table": b"<table><tr>" + b"<td>x" * COUNT + b"<tr><td>y" * COUNT,
    "misnested": b"<b><i></b></i>" * COUNT,
    "attributes": b"<a " + b" ".join(b"a%d=1" % number for number in range(4 * COUNT)) + b">",
    "meta": b"<meta property='og:title' content=x>" * COUNT,
    "items": b"<div itemscope itemprop=author>" * COUNT,
    "data": b'<script type="application/ld+json">' + b"[" * (4 * COUNT) + b"</script>",
}


@pytest.mark.parametrize("depth", ["links", "fast"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markup_is_read_in_little_time(name: str, depth: Depth) -> None:
    with cpu_limit(4.0):
        summarise_html(Source(HOSTILE[name], "text/html", "", depth, Options()))


#: what a process needs for the most demanding of the pages above; without the guard it would be gigabytes
MOST_MB = 400


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_hostile_markup_is_read_in_little_memory() -> None:
    command = (
        "from tests.ports.summarise.test_markup_guard import HOSTILE, peak_mb_of\n"
        "for name, page in HOSTILE.items(): peak_mb_of(page)\n"
        "print(peak_mb_of(b''))"
    )
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert int(done.stdout) < MOST_MB


def peak_mb_of(page: bytes) -> int:
    """The peak of this process, once it has read the page."""
    summarise_html(Source(page, "text/html", "", "fast", Options()))
    status = Path("/proc/self/status").read_text()  # getrusage would tell the peak of the parent
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


@pytest.mark.parametrize("before", [b"", b"<svg><xmp>", b"<svg><title>", b"<svg><![CDATA[<!--]]></svg>", b"<noscript>"])
@pytest.mark.parametrize("name", ["font", "b", "STRONG"])
def test_guard_keeps_formatting_elements_from_growing(before: bytes, name: str) -> None:
    """The standard has all open ones opened again in each paragraph."""
    page = before + fonts(5_000).replace(b"font", name.encode()) + b"<a href=/x>x</a>"
    tree = parse(bounded(page), encoding="utf-8")
    assert len(tree.select("font, b, strong, span")) < 30_000
    assert "/x" in summarise_html(Source(page, "", "", "links", Options())).hrefs


@pytest.mark.parametrize(
    "page",
    [
        b"",
        fonts(500),
        b"<b><i class=x>x</i></b><p>y</p>" * 200,
        b"<div><p>text</p><img src=x></div>" * COUNT,
        b"<i class='icon'></i><b id=x>x</b><p>y</p>" * 100 + b"<p>words</p>" * 3_000,
        b"<img src='data:" + b"A" * 200_000 + b"'>" + b"<p>" * 9000,
        b"<" * COUNT,
    ],
)
def test_guard_leaves_what_is_harmless(page: bytes) -> None:
    assert bounded(page) == page


def test_guard_leaves_emphasis_where_it_drops_attributes() -> None:
    page = b"<p>A <strong class='x y' id=z>bold</strong> word, and <em lang=en>another</em>.</p>"
    filler = b"<b id=%d x y z>" * 700 % tuple(range(700)) + b"<p>x" * 20_000
    assert b"<strong>bold</strong>" in bounded(page + filler)
    assert b"<em>another</em>" in bounded(page + filler)


def test_guard_leaves_large_honest_pages() -> None:
    chance = random.Random(1)

    def block(depth: int) -> str:
        if chance.random() < 0.05 * depth:
            return f"<p class='x'>words <a href='/{depth}'>link</a> <b>bold</b><br>"
        return f"<div><section>{block(depth + 1)}{block(depth + 1)}</section></div>"

    page = "".join(block(0) for _ in range(12)).encode()
    assert page.count(b"<") > 8_000
    assert bounded(page) == page


@pytest.mark.parametrize("tag", [b"<p>", b"<br a b c>", b"<!-- --><p " + b"a " * 1_000 + b">"])
def test_guard_keeps_trees_small(tag: bytes) -> None:
    kept, tags = guarded(tag * (8_000_000 // len(tag)))
    assert 0 < kept.count(b"<") <= tags <= 500_000


def test_guard_drops_null_characters_and_what_is_beyond_the_limit() -> None:
    """16 MB of them took 840 MB; the page around them stays."""
    assert bounded(b"<p>a\0b" + b"\0" * (600 << 10) + b"<a href=x>") == b"<p>ab<a href=x>"
    assert len(bounded("\xa0".encode() * (10 << 20))) == 16 << 20
