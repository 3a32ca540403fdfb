"""AI preferences: what each convention says, where, and that no text of a stranger takes long or raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.ai_preferences import (
    MOST_STATEMENTS,
    STATEMENT_LENGTH,
    column,
    of_headers,
    of_page,
    preferences,
    statement,
)
from gcs.core.page.robots import Robots
from tests.limits import cpu_limit


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Content-Usage: train-ai=n", "ai-train=n"),
        ("Content-Usage: train-ai=n, search=y", "search=y ai-train=n"),
        ("content-usage: TRAIN-GENAI=N;exp=1", "ai-train=n"),
        ("Content-Usage: bots=n", "search=n ai-input=n ai-train=n"),
        ("Content-Usage: train-ai=maybe, paint=n", ""),
        ("Content-Signal: search=yes, ai-input=no, ai-train=no", "search=y ai-input=n ai-train=n"),
        ("Content-Signal: search=yes,ai-train=no", "search=y ai-train=n"),
        ("X-Robots-Tag: noai, noimageai", "ai-train=n"),
        ("X-Robots-Tag: noimageai", ""),
        ("meta robots: index, noai", "ai-train=n"),
        ("tdm-reservation: 1", "ai-input=n ai-train=n"),
        ("meta tdm-reservation: 1", "ai-input=n ai-train=n"),
        ("tdm-reservation: 0", ""),
        ("noise", ""),
    ],
)
def test_each_convention_is_read(line: str, found: str) -> None:
    assert column(preferences([line])) == found


def test_no_training_on_images_is_for_images() -> None:
    assert column(preferences(["X-Robots-Tag: noimageai"], is_image=True)) == "ai-train=n"


def test_where_statements_differ_the_site_has_reserved() -> None:
    for lines in (
        ["Content-Usage: train-ai=y", "X-Robots-Tag: noai"],
        ["X-Robots-Tag: noai", "Content-Usage: train-ai=y"],
    ):
        assert preferences(lines) == {"ai-train": False}


def test_headers_that_speak_to_others_say_nothing() -> None:
    headers = [
        ("X-Robots-Tag", "otherbot: noai"),
        ("X-Robots-Tag", "gcs: noai"),
        ("X-Robots-Tag", "noimageai"),
        ("X-Robots-Tag", "noindex"),
        ("Content-Usage", "search=y"),
        ("Content-Type", "text/html"),
    ]
    said = ["X-Robots-Tag: noai", "X-Robots-Tag: noimageai", "Content-Usage: search=y"]
    assert list(of_headers(headers, "gcs")) == said


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (b'<meta name="robots" content="noai, noimageai">', ["meta robots: noai, noimageai"]),
        (b"<META content='noai' NAME=robots>", ["meta robots: noai"]),
        (b'<meta name="tdm-reservation" content="1"/>', ["meta tdm-reservation: 1"]),
        (
            b"<meta charset=utf-8>" + b"<meta name=robots " + b"x=1 " * 20 + b"content='" + b"x, " * 110 + b"noai'><p>",
            [f"meta robots: {'x, ' * 110}noai"],
        ),
        (b'<meta name="robots" content="noindex"><p>noai', []),
        (b"<meta name=robots content=noai></head><meta name=tdm-reservation content=1>", ["meta robots: noai"]),
        (b"<p>a page", []),
    ],
)
def test_the_head_of_a_page_is_read(page: bytes, said: list[str]) -> None:
    assert list(of_page(page)) == said


def test_robots_txt_states_preferences_for_a_group_and_for_paths() -> None:
    body = b"""User-agent: *
Content-Usage: train-ai=n
Content-Usage: /open/ train-ai=y
Content-Signal: search=yes, ai-train=no
Allow: /

User-agent: other
Content-Usage: search=n
"""
    robots = Robots.parse(body, "gcs")
    assert Robots.decode(robots.encode()) == robots
    assert robots.usage_of("https://a.example/x") == [
        "Content-Usage: train-ai=n",
        "Content-Signal: search=yes, ai-train=no",
    ]
    assert robots.usage_of("https://a.example/open/x")[0] == "Content-Usage: train-ai=y"
    assert robots.allows("https://a.example/x")
    assert column(preferences(Robots.parse(body, "other").usage_of("https://a.example/x"))) == "search=n"


def test_robots_txt_without_end_states_a_bounded_number() -> None:
    body = b"User-agent: *\n" + b"Content-Usage: /" + b"x" * 5_000 + b" train-ai=n\n"
    robots = Robots.parse(body * 50, "gcs")
    assert len(robots.usage) <= MOST_STATEMENTS


@given(st.text(max_size=300), st.binary(max_size=2_000))
def test_any_text_is_a_statement_or_nothing(text: str, page: bytes) -> None:
    line = statement(text, text)
    assert "\n" not in line and len(line) <= STATEMENT_LENGTH
    preferences([line])
    list(of_page(b"noai" + page))
    list(of_headers([(text, text)], "gcs"))


@pytest.mark.parametrize("begin", [b"<meta ", b"<meta name=a=", b'<meta content="', b"<meta x" + b" " * 400])
def test_hostile_head_takes_no_time(begin: bytes) -> None:
    with cpu_limit(1.0):
        list(of_page(b"noai" + begin * (70_000 // len(begin))))
