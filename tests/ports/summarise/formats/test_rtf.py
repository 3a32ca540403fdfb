"""Rich text, written by hand."""

from hypothesis import given
from hypothesis import strategies as st

from gcs.ports.reader import Summarisers
from gcs.ports.summarise import DEFAULT, Source
from gcs.ports.summarise.formats.rtf import summarise_rtf
from tests.limits import memory_limit

FILE = (
    rb"{\rtf1\ansi\ansicpg1251{\fonttbl{\f0 Times;}}{\*\generator Hand;}{\info{\title Of ships}{\author A}}"
    rb"\f0 The \b ship\b0  sails\'21\par \u1052?\u1080?\u1088? \'cc\'e8\'f0\par a\{b\}\emdash c\line "
    rb'{\field{\*\fldinst HYPERLINK "https://ships.example/"}{\fldrslt here}}}'
)


def read(content: bytes):
    return summarise_rtf(Source(content, "application/rtf", "http://x/", "fast", DEFAULT))


def test_rtf_has_title_words_and_links() -> None:
    document = Summarisers().summarise(FILE, "application/msword", "http://x/", "fast")  # the usual lie
    assert document.title == "Of ships"
    assert document.text == "The ship sails!\nМир Мир\na{b}—c\nhere"
    assert document.hrefs == ["https://ships.example/"]


def test_rtf_of_millions_of_tokens_takes_little_memory() -> None:
    """16 MB of symbols took 900 MB."""
    with memory_limit(30 << 20):
        read(rb"{\rtf1 A" + rb"\par" * 400_000)


@given(st.binary(max_size=400))
def test_rtf_bears_anything(tail: bytes) -> None:
    read(FILE[:200] + tail)


def test_rtf_of_many_groups_is_read() -> None:
    assert read(rb"{\rtf1 " + b"{" * 200_000 + b"word").text == "word"
