"""Claims of helpers: what is judged is what is stored."""

import pytest

from gcs.core.helpers.claims import Claim, summary_of
from gcs.core.messages.tuples import UrlTS
from gcs.core.url.canonical import UrlRules
from gcs.core.url.join import Joiner

URL = "http://a.example/"


def kept(*headers: tuple[str, str], archived: bool) -> list[tuple[str, str]]:
    head = "R0VUIC8gSFRUUC8xLjENCg0K" if archived else ""  # GET / HTTP/1.1
    claim = Claim(id="g0/r/1", url=URL, status=200, headers=list(headers), request_head=head)
    errand = UrlTS("g0", "r", 1, URL, 10.0, payload=archived)
    rules = {"trusted": False, "joiner": Joiner(UrlRules()), "text": True, "heed": True, "now": 1e9}
    return [tuple(each) for each in summary_of(claim, errand, "h", **rules).headers]


@pytest.mark.parametrize("archived", [True, False])
@pytest.mark.parametrize(
    "field",
    [
        ("Content-Type: evil/evil; x", "1"),
        (" Content-Type", "evil/evil"),
        ("Content-Type ", "evil/evil"),
        ("X\r\nContent-Type", "evil/evil"),
        ("", "Content-Type: evil/evil"),
        ("Content-Type", "text/html\r\nContent-Type: evil/evil"),
        ("Content-Type", "text/html\0"),
        ("etag", '"a"\n'),
    ],
)
def test_header_that_would_be_stored_as_another_one_is_not_kept(archived: bool, field: tuple[str, str]) -> None:
    honest = ("Content-Type", "text/html;\tcharset=utf-8")
    assert kept(honest, field, archived=archived) == [honest]


def test_headers_of_an_archived_page_are_all_kept() -> None:
    fields = (("Server", "a"), ("X-Any!#$", "ü"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"))
    assert kept(*fields, archived=True) == list(fields)
    assert kept(*fields, archived=False) == []


def test_language_is_that_of_the_text_and_not_only_what_a_browser_reads_in_its_head() -> None:
    text = "これは日本語の文章です。駅の前にある本屋で新しい本を買いました。" * 4
    claim = Claim(id="g0/r/1", url=URL, status=200, text=text, language="fr")
    rules = {"trusted": False, "joiner": Joiner(UrlRules()), "heed": True, "now": 1e9}
    errand = UrlTS("g0", "r", 1, URL, 10.0)
    assert summary_of(claim, errand, "h", text=True, **rules).page.language == "ja"
    assert summary_of(claim, errand, "h", text=False, **rules).page.language == "fr"
