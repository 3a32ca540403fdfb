"""URLs of folders, databases and news servers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.url.canonical import host_of_url, origin_of_url
from gcs.core.url.join import Joiner
from gcs.core.url.scope import Scope
from gcs.core.url.sortkey import sort_key, url_of
from gcs.core.url.sources import SCHEMES, is_below, is_local, is_source, source_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("file:///srv/my docs/ä.html#part", "file://localhost/srv/my%20docs/%C3%A4.html"),
        ("FILE:/srv/docs/", "file://localhost/srv/docs/"),
        ("file://localhost/a/../b%7e", "file://localhost/b~"),
        ("db:///srv/shop.db/orders/", "db://localhost/srv/shop.db/orders/"),
        ("nntp://News.Example.org:119/comp.lang.c/", "nntp://news.example.org/comp.lang.c/"),
        ("nntps://[::1]:1119", "nntps://[::1]:1119/"),
        ("file://elsewhere/x", ""),
        ("db://shop/x", "db://shop/x"),  # a database that the machine knows by this name
        ("db://some.where/x", ""),
        ("db://shop:5432/x", ""),
        ("mail://elsewhere/x", "mail://elsewhere/x"),
        ("mail://mail.example.org/x", ""),
        ("mail:///home/ann/box/", "mail://localhost/home/ann/box/"),
        ("nntp://ann@news.example.org/", ""),
        ("nntp:///comp.lang.c", ""),
        ("http://example.org/", ""),
        ("ftp://example.org/", ""),
        ("no url", ""),
    ],
)
def test_source_url_has_one_spelling(text: str, url: str) -> None:
    assert source_url(text) == url


@given(scheme=st.sampled_from(SCHEMES), path=st.text(min_size=1), query=st.text())
def test_source_urls_are_stable_and_are_keys_of_the_tree(scheme: str, path: str, query: str) -> None:
    url = source_url(f"{scheme}localhost/{path}?{query}")
    if url:  # a host may be spoilt by what follows it
        assert source_url(url) == url
        assert url_of(sort_key(url)) == url
        assert is_source(url)
        assert is_local(url) == (host_of_url(url) == "localhost" and not url.startswith("nntp"))
        assert url.startswith(origin_of_url(url) + "/")


def test_pages_of_sources_link_to_sources_and_to_the_web() -> None:
    hrefs = [
        "b c.html",
        "../x",
        "/y",
        "?after=1",
        "HTTP://Example.org:80/z",
        "file:///etc/passwd",
        "mailto:ann",
        "b%20c.html",
    ]
    assert Joiner().join("file://localhost/srv/docs/", hrefs) == [
        "file://localhost/srv/docs/b%20c.html",
        "file://localhost/srv/x",
        "file://localhost/y",
        "file://localhost/srv/docs/?after=1",
        "http://example.org/z",
        "file://localhost/etc/passwd",
    ]


@given(st.sampled_from(SCHEMES), st.text())
def test_pages_of_the_web_cannot_link_to_sources(scheme: str, tail: str) -> None:
    joined = Joiner().join(
        "http://example.org/", [scheme + tail, f"{scheme}localhost/etc/passwd", f"{scheme[:-2]}{tail}"]
    )
    assert not any(map(is_source, joined))


def test_only_what_lies_below_a_seed_is_covered_whatever_the_scope() -> None:
    for kind in ("host", "domain", "any"):
        scope = Scope(kind, ("file://localhost/srv/docs/", "db://localhost/srv/shop.db/", "http://localhost/"))
        assert not scope.is_everything
        assert scope.covers("file://localhost/srv/docs/a/b.html")
        assert scope.covers("db://localhost/srv/shop.db/orders/1")
        assert scope.covers("http://localhost/x")
        assert not scope.covers("file://localhost/srv/docs2/a.html")
        assert not scope.covers("file://localhost/etc/passwd")
        assert not scope.covers("db://localhost/srv/other.db/")
        assert not scope.covers("file://localhost/srv/shop.db/")
    assert not Scope("any", ("http://localhost/",)).covers("file://localhost/etc/passwd")
    assert not Scope("host", ("file://localhost/srv/docs/",)).covers("http://localhost/")
    patterned = Scope("host", ("file://localhost/srv/docs/",), exclude=(r"\.bak$",))
    assert patterned.covers("file://localhost/srv/docs/a")
    assert not patterned.covers("file://localhost/srv/docs/a.bak")


def test_below_is_a_matter_of_whole_names() -> None:
    assert is_below("file://localhost/a/b", "file://localhost/a/b")
    assert is_below("file://localhost/a/b/c", "file://localhost/a/b")
    assert not is_below("file://localhost/a/bc", "file://localhost/a/b")
