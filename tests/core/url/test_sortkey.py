"""Sort keys: the order of the URL tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.url.canonical import canonical, host_of_url
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY, host_of_key, sort_key, split_port, subtree, tokens, url_of

HOSTS = st.sampled_from(
    [
        "com",
        "a.com",
        "a.com:81",
        "a-b.com",
        "b.a.com",
        "www.example.org",
        "10.0.0.1",
        "10.0.0.10:8080",
        "[::1]",
        "[::1]:81",
        "x1",
        "x.1a",
        "xn--p1ai",
    ]
)
PATHS = st.text(alphabet="/ab!%?&=.:[]é~", max_size=12)
URLS = st.builds("{}://{}/{}".format, st.sampled_from(["http", "https"]), HOSTS, PATHS).map(canonical).filter(bool)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.example.com/a/b/?x=1", ("com", "example", "www", "/https", "a", "b", "", "?x=1")),
        ("http://example.com/", ("com", "example", "/http", "")),
        ("http://example.com:81/a?b/c?d", ("com", "example", "/http:81", "a", "?b/c?d")),
        ("http://127.0.0.5:8080/", ("127.0.0.5", "/http:8080", "")),
        ("http://[::1]:8080/x", ("[::1]", "/http:8080", "x")),
        ("http://h//a//", ("h", "/http", "", "a", "", "")),
    ],
)
def test_tokens_of(url: str, expected: tuple[str, ...]) -> None:
    assert tokens(url) == expected
    assert url_of(sort_key(url)) == url


@given(URLS)
def test_url_of_is_the_inverse_of_sort_key(url: str) -> None:
    assert url_of(sort_key(url)) == url


@given(URLS, URLS)
def test_sort_key_orders_as_token_tuples_do(one: str, other: str) -> None:
    assert (sort_key(one) < sort_key(other)) == (tokens(one) < tokens(other))
    assert (sort_key(one) == sort_key(other)) == (one == other)


@given(URLS, URLS)
def test_subtree_holds_exactly_the_descendants(one: str, other: str) -> None:
    path, key = tokens(one), sort_key(other)
    for depth in range(len(path) + 1):
        low, high = subtree("\x00".join(path[:depth]).encode())
        assert (low <= key < high) == (tokens(other)[:depth] == path[:depth])


@given(URLS, URLS)
def test_host_of_tells_hosts_apart(one: str, other: str) -> None:
    assert (host_of_key(sort_key(one)) == host_of_key(sort_key(other))) == (host_of_url(one) == host_of_url(other))


def test_subtree_of_the_root_is_everything() -> None:
    assert subtree(b"") == (FIRST_KEY, LAST_KEY)


@pytest.mark.parametrize(
    ("authority", "expected"),
    [("h", ("h", "")), ("h:81", ("h", ":81")), ("[::1]", ("[::1]", "")), ("[::1]:81", ("[::1]", ":81"))],
)
def test_split_port(authority: str, expected: tuple[str, str]) -> None:
    assert split_port(authority) == expected
