"""The reader: dispatch by format, plug-ins by entry point, bytes that nobody meant well; empty shells; gists."""

import gzip
import logging
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.recognise import Format
from gcs.core.page.values import Document
from gcs.errors import UsageError
from gcs.ports.reader import Summarisers, gist, is_shell
from gcs.ports.summarise import Options, Source, Summariser

summarise = Summarisers().summarise


def titled(title: str):
    return lambda source: Document(hrefs=[], title=f"{title} {len(source.content)}")


@pytest.mark.parametrize(
    ("content", "content_type", "title"),
    [
        (b"<title>page</title>", "text/html", "page"),
        ("<title>мир</title>".encode("cp1251"), "text/html; charset=windows-1251", "мир"),
        (b"<rss><channel><title>feed</title></channel></rss>", "application/rss+xml", "feed"),
        (b"First line\nSecond line", "text/plain", "First line"),
        (b"%PDF-1.7 \x00", "application/pdf", ""),
        (b"\x89PNG\r\n\x1a\n", "image/png", ""),
        (b"body { color: red }", "text/css", ""),
        (gzip.compress(b"<html><title>packed</title>"), "application/gzip", "packed"),
    ],
)
def test_summarise_dispatches_by_format(content: bytes, content_type: str, title: str) -> None:
    assert summarise(content, content_type, "http://x/", "links").title == title


def test_summarise_reads_text_files_deeper_where_asked() -> None:
    text = b"A heading\n\nThese are the words of a file that holds nothing but words, and they are English."
    assert summarise(text, "text/plain", "http://x/", "links").text == ""
    document = summarise(text, "text/plain", "http://x/", "fast")
    assert (document.text, document.language) == (text.decode(), "en")
    assert document.simhash


def test_summarise_looks_at_a_bounded_part_of_a_document() -> None:
    page = b"<a href=/1>x</a>" + b" " * 2000 + b"<a href=/2>x</a>"
    assert summarise(page, "text/html", "http://x/", "links", Options(max_bytes=1000)).hrefs == ["/1"]
    bomb = gzip.compress(b"<html><a href=/1>" + b"x" * 10_000_000 + b"<a href=/2>")
    assert summarise(bomb, "application/gzip", "http://x/", "links", Options(max_bytes=100_000)).hrefs == ["/1"]


def test_registry_prefers_the_longest_prefix_then_the_latest() -> None:
    registry = Summarisers(
        [
            Summariser(Format.HTML, titled("docs"), prefix="http://x/docs/"),
            Summariser(Format.HTML, titled("site"), prefix="http://x/"),
            Summariser(Format.PDF, titled("pdf")),
            Summariser(Format.PDF, titled("better pdf")),
        ]
    )

    def title(url: str, content_type: str = "text/html") -> str:
        return registry.summarise(b"<title>own</title>", content_type, url, "links").title

    assert title("http://x/docs/a") == "docs 18"
    assert title("http://x/a") == "site 18"
    assert title("http://y/a") == "own"
    assert title("http://y/a", "application/pdf") == "better pdf 18"


def test_registry_takes_media_types_before_formats() -> None:
    registry = Summarisers([Summariser("application/msword", titled("word")), Summariser("text/html", titled("all"))])
    assert registry.summarise(b"x", "application/msword; a=b", "http://x/", "links").title == "word 1"
    assert registry.summarise(b"x", "TEXT/HTML", "http://x/", "links").title == "all 1"


def test_registry_gives_its_summarisers_the_whole_source() -> None:
    seen: list[Source] = []
    registry = Summarisers([Summariser(Format.PDF, lambda source: seen.append(source) or Document(hrefs=["x"]))])
    options = Options(agent="mybot")
    assert registry.summarise(b"%PDF-1", "application/pdf", "http://x/", "fast", options).hrefs == ["x"]
    assert seen == [Source(b"%PDF-1", "application/pdf", "http://x/", "fast", options)]


def test_registry_survives_a_summariser_that_raises(caplog: pytest.LogCaptureFixture) -> None:
    def broken(source: Source) -> Document:
        raise KeyError(source.url)

    registry = Summarisers([Summariser(Format.PDF, broken)])
    with caplog.at_level(logging.WARNING):
        assert registry.summarise(b"%PDF-1", "application/pdf", "http://x/", "links") == Document(hrefs=[])
    assert [(record.message, vars(record)["fields"]["url"]) for record in caplog.records] == [
        ("summarise.failed", "http://x/")
    ]


def install(folder: Path, module: str, source: str, entry_point: str) -> None:
    """A package as pip would leave it."""
    (folder / f"{module}.py").write_text(source)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[gcs.summarisers]\n{entry_point}\n")


def test_registry_loads_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
from gcs.core.page.values import Document
from gcs.ports.summarise import Summariser

pdf = Summariser("pdf", lambda source: Document(hrefs=[], title="by the plug-in"), prefix="http://x/")
"""
    install(tmp_path, "gcs_pdf_plugin", source, "pdf = gcs_pdf_plugin:pdf")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Summarisers.with_plugins()
    assert registry.summarise(b"%PDF-1", "", "http://x/1.pdf", "links").title == "by the plug-in"
    assert registry.summarise(b"%PDF-1", "", "http://y/1.pdf", "links").title == ""


def test_registry_names_a_plugin_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "gcs_bad_plugin", "pdf = 1", "pdf = gcs_bad_plugin:pdf")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="gcs_bad_plugin:pdf"):
        Summarisers.with_plugins()


TYPES = [
    "",
    "text/html",
    "text/html; charset=utf-16",
    "application/xml",
    "application/rss+xml",
    "text/plain",
    "application/gzip",
]
HEADS = [
    b"",
    b"<?xml version='1.0'?><urlset>",
    b"<rss><channel>",
    b"\x1f\x8b\x08\x00",
    b"\xff\xfe",
    b"PK\x03\x04",
    b"<!DOCTYPE",
]


@given(st.sampled_from(HEADS), st.binary(max_size=300), st.sampled_from(TYPES), st.sampled_from(["links", "fast"]))
def test_summarise_takes_any_bytes_without_a_word(head: bytes, tail: bytes, content_type: str, depth) -> None:
    """Without the net: what the built-in summarisers raise would be logged, and warnings are errors here."""
    logger = logging.getLogger("gcs.summarise")
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logger.addHandler(handler)
    try:
        assert isinstance(summarise(head + tail, content_type, "http://x/", depth), Document)
    finally:
        logger.removeHandler(handler)
    assert not records


@pytest.mark.parametrize(
    "page",
    [
        b"<div>" * 100_000,
        b"<a href=/x><div>" * 20_000,
        b"<b id=1><table><tr><td>" * 20_000,
        b"<p>hello <a href='/x'>foo</a>" * 60_000,
        b"\0" * 2_000_000,
        b"<" * 500_000,
        b"<a " + b"x" * 2_000_000,
    ],
    ids=["divs", "links and divs", "tables", "long", "nul", "open", "endless tag"],
)
@pytest.mark.parametrize("depth", ["links", "fast"])
def test_summarise_comes_to_an_end_on_hostile_pages(page: bytes, depth) -> None:
    """Each of these takes from ten seconds to minutes without the guards."""
    document = summarise(b"<title>first</title>" + page, "text/html; charset=utf-8", "http://x/", depth)
    assert document.title == "first"


# -- empty shells

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


# -- gists

FIRST = "The first sentence is here, and it is long enough to be one."
SECOND = 'The second one asks: "Is it?"'
THIRD = "The third one ends it!"


def page(description: str, text: str) -> Document:
    return Document(hrefs=[], description=description, text=text)


@pytest.mark.parametrize(
    ("description", "text", "expected"),
    [
        ("What it says.", "Other words entirely.", "What it says."),
        ("", f"{FIRST} {SECOND} {THIRD} The fourth is too many.", f"{FIRST} {SECOND} {THIRD}"),
        ("", f"Menu\nHome\n{FIRST}\n{SECOND} {THIRD} {FIRST}", f"{FIRST} {SECOND} {THIRD}"),
        ("", "Only a heading", "Only a heading"),
        ("", "", ""),
        ("", "これは最初の文です。" * 5, "これは最初の文です。 これは最初の文です。 これは最初の文です。"),
        ("", "Version 3.11 came out in 2022 and it was faster. It was good.", None),
    ],
)
def test_gist_is_the_description_or_the_first_sentences(description: str, text: str, expected: str | None) -> None:
    assert gist(page(description, text)) == (text if expected is None else expected)


def test_gist_cuts_at_a_word() -> None:
    long = gist(page("word " * 200, ""))
    assert long.endswith("word…")
    assert len(long) <= 401


@given(st.text(max_size=50), st.text(max_size=2000))
def test_gist_is_short(description: str, text: str) -> None:
    assert len(gist(page(description, text))) <= 401
