"""Links in headers: which are followed, and that no header takes long or raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.link_headers import MOST_LINKS, header_links
from tests.limits import cpu_limit


@pytest.mark.parametrize(
    ("name", "value", "hrefs", "canonical"),
    [
        ("Link", '</2>; rel="next"', ["/2"], ""),
        ("link", "</2>; rel=next, </0>; rel=prev", ["/2", "/0"], ""),
        (
            "Link",
            '<https://a.example/>; type="x,y"; REL="canonical alternate"',
            ["https://a.example/"],
            "https://a.example/",
        ),
        ("Link", "</style.css>; rel=preload; as=style", [], ""),
        ("Link", "</x>", [], ""),
        ("Link", "<>; rel=next, <unfinished", [], ""),
        ("Refresh", "5; url=/later", ["/later"], ""),
        ("Refresh", "0;URL='/quoted'", ["/quoted"], ""),
        ("Refresh", "5", [], ""),
        ("Location", "</2>; rel=next", [], ""),
    ],
)
def test_headers_link_to_pages(name: str, value: str, hrefs: list[str], canonical: str) -> None:
    found = header_links([(name, value)])
    assert (found.hrefs, found.canonical) == (hrefs, canonical)


def test_number_of_links_is_bounded() -> None:
    assert len(header_links([("Link", "</a>;rel=next," * 400)] * 50).hrefs) == MOST_LINKS


@given(st.sampled_from(["Link", "Refresh"]), st.text("<>;=rel\"', nexturl5", max_size=200))
def test_any_header_is_read(name: str, value: str) -> None:
    header_links([(name, value)])


@pytest.mark.parametrize("value", ["<" * 50_000, "<a>;" * 20_000, "<a>" + "; rel = " * 9_000, "5;" + " " * 50_000])
def test_hostile_header_takes_no_time(value: str) -> None:
    with cpu_limit(1.0):
        header_links([("Link", value), ("Refresh", value)])
