"""Which pages are worth a browser: those that say nothing without their scripts."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.recognise import is_shell

HTML = "text/html; charset=utf-8"
REACT = b"""<!doctype html><html><head><title>Shop</title><link rel=stylesheet href=/s.css></head>
<body><noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div>
<script>window.__STATE__ = {"text": "much that no reader sees, much that no reader sees, much that no reader sees,
much that no reader sees, much that no reader sees"}</script>
<script src="/static/js/main.js"></script></body></html>"""
ARTICLE = b"<html><body><script src=a.js></script><p>" + b"A page that speaks for itself. " * 10 + b"</p></body></html>"


@pytest.mark.parametrize(
    ("content", "content_type", "links", "shell"),
    [
        (REACT, HTML, 0, True),
        (REACT.replace(b"script", b"SCRIPT"), HTML, 1, True),
        (REACT, HTML, 3, False),
        (REACT, "application/json", 0, False),
        (REACT.replace(b"<script", b"<b").replace(b"</script", b"</b"), HTML, 0, False),
        (ARTICLE, HTML, 0, False),
        (b"<p>short, and no script</p>", HTML, 0, False),
        (b"<html><script>never closed " + b"x" * 5000, HTML, 0, True),
        (b"<body><!-- " + b"y" * 5000 + b" --><script></script></body>", HTML, 0, True),
        (b"", HTML, 0, False),
    ],
)
def test_shell(content, content_type, links, shell):
    assert is_shell(content, content_type, links) is shell


@given(st.binary(max_size=400), st.sampled_from([b"<script>", b"<!--", b"<head>", b"</script>", b"<"]))
def test_shell_takes_whatever_comes(noise, tag):
    assert is_shell(tag.join([noise, noise, noise]), HTML, 0) in (True, False)


@pytest.mark.parametrize("part", [b"<script", b"<!--", b"<head>", b"<a ", b"<", b"&a"])
def test_shell_is_linear_in_the_page(part):
    """A quadratic one would take minutes."""
    page = b"<script></script>" + part * ((1 << 18) // len(part))
    began = time.process_time()
    is_shell(page, HTML, 0)
    assert time.process_time() - began < 5
