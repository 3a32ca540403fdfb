"""Mail and news: the part that a person reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.values import Document
from gcs.ports.summarise import Options, Summarisers
from gcs.ports.summarise.summarisers import Source

PLAIN = b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nContent-Type: text/plain; charset=latin-1\n\nSch\xf6n hier.\n"
BOTH = b"""Subject: Offer
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=x

--x
Content-Type: text/html; charset=utf-8

<p>Read <a href="https://example.org/more">more</a></p>
--x
Content-Type: image/png
Content-Transfer-Encoding: base64

AAAA
--x--
"""


def read(content: bytes) -> Document:
    """As `summarise` would, but for what it hides."""
    return Summarisers().read(Source(content, "message/rfc822", "", "fast", Options()))


def test_plain_text_and_subject_are_decoded() -> None:
    document = read(PLAIN)
    assert (document.title, document.text) == ("Grüße", "Schön hier.")


def test_links_of_a_page_in_a_message_are_followed() -> None:
    document = read(BOTH)
    assert (document.title, document.hrefs) == ("Offer", ["https://example.org/more"])


@given(st.binary())
def test_no_message_can_raise(content: bytes) -> None:
    read(content)


@pytest.mark.parametrize("broken", [b"Content-Type: text/plain; charset=nonsense\n\nx", b"Subject: \xff\xfe\n\nx", b""])
def test_broken_messages_say_what_they_can(broken: bytes) -> None:
    assert read(broken).hrefs == []
