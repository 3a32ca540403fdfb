"""Markdown as a document of its own, and llms.txt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.values import Document
from gcs.ports.reader import Summarisers
from gcs.ports.summarise import Depth, Options
from tests.limits import cpu_limit

summarise = Summarisers().summarise

PAGE = b"""---
title: "The Front"
description: What it is about
---
# The *Heading* #

See [the guide](guide.md "Guide"), ![a picture](x.png) and <https://a.example/x>. Bare: https://b.example/y.
`[no](code.html)` but [yes](<angle.html>), [wiki](https://en.wikipedia.org/wiki/A_(b)).
[ref]: /reference 'Title'

```
[no](fenced.html)
```
~~~
https://no.example/
```
~~~
- **Last** [one](../last#part)
"""
LINKS = [
    *("guide.md", "https://a.example/x", "https://b.example/y", "angle.html", "https://en.wikipedia.org/wiki/A_(b)"),
    *("/reference", "../last#part"),
]


def read(
    content: bytes, content_type: str = "text/markdown", url: str = "http://x/a", depth: Depth = "fast"
) -> Document:
    return summarise(content, content_type, url, depth)


def test_markdown_has_links_title_text_and_itself() -> None:
    found = read(PAGE)
    assert sorted(found.hrefs) == sorted(LINKS)
    assert (found.title, found.description) == ("The Front", "What it is about")
    assert found.markdown.startswith("# The *Heading* #") and "```" in found.markdown
    assert "The Heading" in found.text and "See the guide, a picture and" in found.text and "*" not in found.text
    assert not found.source
    assert read(PAGE, depth="links").text == ""
    assert read(b"# Only\n").title == "Only"


@pytest.mark.parametrize(
    ("content_type", "url", "is_markdown"),
    [
        ("text/markdown; charset=utf-8", "http://x/a", True),
        ("text/x-markdown", "http://x/a", True),
        ("text/plain", "http://x/a/readme.md?x", True),
        ("", "http://x/README.MD", True),
        ("text/plain", "http://x/a.txt", False),
        ("text/html", "http://x/a.md", False),
    ],
)
def test_markdown_is_known_by_its_type_or_its_name(content_type: str, url: str, is_markdown: bool) -> None:
    assert (read(b"[a](b.html)\n", content_type, url).hrefs == ["b.html"]) is is_markdown


def test_llms_txt_is_a_list_of_links_and_no_page() -> None:
    listed = b"# Project\n\n> What it is\n\n## Docs\n\n- [Quick start](https://x/quick.md): first\n- [API](/api.md)\n"
    for url in ("http://x/llms.txt", "http://x/docs/llms.txt?v=1"):
        found = read(listed, "text/plain", url)
        assert (found.hrefs, found.source, found.text, found.title) == (
            ["https://x/quick.md", "/api.md"],
            True,
            "",
            "Project",
        )


def test_links_and_text_are_bounded() -> None:
    assert len(summarise(b"[a](b) " * 10_000, "text/markdown", "http://x/", "fast", Options(max_links=7)).hrefs) == 7
    long = summarise(b"word\n" * 10_000, "text/markdown", "http://x/", "fast", Options(max_text_bytes=1_000))
    assert long.text_cut and len(long.text) <= 1_000 and len(long.markdown) <= 1_000


@given(st.lists(st.sampled_from(["[", "](", ")", "![", "`", "```\n", "\n", "#", "<", ">", "http://a", "(", '"', " "])))
def test_pieces_of_markdown_never_raise(parts: list[str]) -> None:
    read("".join(parts).encode())


@pytest.mark.parametrize("part", [b"[", b"](", b"[a](", b"[a](b ", b"`", b"(" * 10, b"http://a", b"#", b"*", b"\n"])
def test_markdown_takes_linear_time(part: bytes) -> None:
    with cpu_limit(10):
        read(part * (4_000_000 // len(part)))
