import random

import pytest

from gcs.ports.summarise.html import bounded

DIV = b"<div>"
LEVELS = 40_000  # lexbor would take two and a half seconds for these


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("nested blocks", DIV * LEVELS),
        ("nested blocks in capitals", b"<DIV CLASS=x>" * LEVELS),
        ("closed by the wrong tag", b"<div></x>" * LEVELS),
        ("closed in a comment", b"<div><!--</div>-->" * LEVELS),
        ("closed in a script", b"<div><script></div></script>" * LEVELS),
        ("closed in an attribute", b"<div title='</div>'>" * LEVELS),
        ("lists", b"<ul><li>" * LEVELS),
        ("formatting", b"<b>" * LEVELS + b"<p>x" * LEVELS),
        ("attributes", b"<a " + b" ".join(b"a%d=1" % number for number in range(LEVELS)) + b">"),
        ("attributes of a script", b"<script " + b" ".join(b"a%d" % number for number in range(LEVELS)) + b">"),
        ("attributes with quotes", b"<a " + b" ".join(b"a%d='>'" % number for number in range(LEVELS)) + b">"),
    ],
)
def test_bounded_cuts_what_would_take_long(name: str, page: bytes) -> None:
    head = b"<!DOCTYPE html><a href=/x>x</a>"
    kept = bounded(head + page)
    assert kept.startswith(head), "what comes before the bomb is kept"
    assert len(kept) < len(page) / 2, name


@pytest.mark.parametrize(
    "page",
    [
        b"",
        DIV * 1000,
        b"<p>" * LEVELS,
        b"<br>" * LEVELS,
        b"<tr><td>x" * LEVELS,
        b"<li><a href=x>y" * LEVELS,
        b"<div><p>text</p><img src=x></div>" * LEVELS,
        b"<div><span>unclosed</div>" * LEVELS,
        b"<img src='data:" + b"A" * 200_000 + b"'>" + b"<p>" * 9000,
        b"<script>" + b"x" * 200_000 + b"</script>",
        b"<!--" * LEVELS,
        b"<" * LEVELS,
        b"\0" * LEVELS,
    ],
)
def test_bounded_keeps_what_is_harmless(page: bytes) -> None:
    assert bounded(page) == page


def test_bounded_keeps_large_honest_pages() -> None:
    chance = random.Random(1)

    def block(depth: int) -> str:
        if chance.random() < 0.05 * depth:
            return f"<p class='x'>words <a href='/{depth}'>link</a> <b>bold</b><br>"
        return f"<div><section>{block(depth + 1)}{block(depth + 1)}</section></div>"

    page = "".join(block(0) for _ in range(12)).encode()
    assert page.count(b"<") > 8_000
    assert bounded(page) == page
