import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.ports.summarise.html_elements import primary_language, refresh_target, srcset_urls


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=/x", "/x"),
        ("0; URL = '/x y' ignored", "/x y"),
        ('3, url="/x"', "/x"),
        ("0.5;/x", "/x"),
        (".5 ;url=/x", "/x"),
        ("5", ""),
        ("5;", ""),
        ("0;url=", ""),
        ("0;url=''", ""),
        ("url=/x", ""),
        ("soon; url=/x", ""),
        ("0; url=/a b ", "/a b"),
        ("0 url=/x", "/x"),
        ("", ""),
    ],
)
def test_refresh_target_follows_the_standard(content: str, target: str) -> None:
    assert refresh_target(content) == target


@pytest.mark.parametrize(
    ("srcset", "urls"),
    [
        ("a.png", ["a.png"]),
        ("a.png 1x, b.png 2x", ["a.png", "b.png"]),
        ("a.png, b.png", ["a.png", "b.png"]),
        ("a.png,b.png", ["a.png,b.png"]),  # a comma inside a URL belongs to it
        (" ,, a.png 100w,\n\tb.png 200w, ", ["a.png", "b.png"]),
        ("data:image/png;base64,AAAA 1x, b.png 2x", ["data:image/png;base64,AAAA", "b.png"]),
        ("a.png (x, y) 1x, b.png", ["a.png", "b.png"]),
        ("a.png,,, b.png", ["a.png", "b.png"]),
        ("", []),
        (" , ", []),
    ],
)
def test_srcset_urls_follow_the_standard(srcset: str, urls: list[str]) -> None:
    assert list(srcset_urls(srcset)) == urls


@given(st.text(alphabet=" \t,()ab1x", max_size=60))
def test_srcset_urls_are_words_of_the_srcset(srcset: str) -> None:
    for url in srcset_urls(srcset):
        assert url in srcset
        assert url
        assert not set(url) & set(" \t")


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en", "en"),
        ("EN_us", "en"),
        (" pt-BR ", "pt"),
        ("deu", "deu"),
        ("", ""),
        ("x-y", ""),
        ("english", ""),
        ("e", ""),
    ],
)
def test_primary_language_is_the_first_subtag(tag: str, language: str) -> None:
    assert primary_language(tag) == language
