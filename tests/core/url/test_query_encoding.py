"""Queries of links on pages in legacy encodings, as browsers send them (WHATWG URL and Encoding)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.url.query_encoding import in_page_encoding


@pytest.mark.parametrize(
    ("href", "encoding", "written"),
    [
        ("/s?q=日本", "cp932", "/s?q=%93%FA%96{"),
        ("/s?q=日本", "euc_jp", "/s?q=%C6%FC%CB%DC"),
        ("/s?q=中文&x=1", "gb18030", "/s?q=%D6%D0%CE%C4&x=1"),
        ("/s?q=мир", "koi8-r", "/s?q=%CD%C9%D2"),
        ("/s?q=мир", "cp1251", "/s?q=%EC%E8%F0"),
        ("/s?q=café", "cp1252", "/s?q=caf%E9"),
        ("http://a.test/é?q=é#é", "cp1252", "http://a.test/é?q=%E9#é"),
        ("?q=a日b", "cp1252", "?q=a%26%2326085%3Bb"),
        ("?q=é日", "cp1252", "?q=%E9%26%2326085%3B"),
        ("/é", "cp1252", "/é"),
        ("/s?q=%E9", "cp1252", "/s?q=%E9"),
        ("/s?q=é", "utf-8", "/s?q=é"),
        ("/s?q=é", "utf-16-le", "/s?q=é"),
        ("/s?q=é", "no such codec", "/s?q=é"),
        ("mailto:a@b.test?subject=é", "cp1252", "mailto:a@b.test?subject=é"),
    ],
)
def test_query_is_written_in_the_encoding_of_its_page(href: str, encoding: str, written: str) -> None:
    assert in_page_encoding(href, encoding) == written


@given(st.text(), st.sampled_from(["cp932", "koi8-r", "cp1252", "gb18030", "iso2022_jp", "big5hkscs", "cp949"]))
def test_only_the_query_changes_and_is_ascii_after_it(query: str, encoding: str) -> None:
    written = in_page_encoding(f"/ä?{query}", encoding)
    assert written.startswith("/ä?")
    assert written.partition("#")[0][3:].isascii()
    assert written.partition("#")[2] == query.partition("#")[2]
