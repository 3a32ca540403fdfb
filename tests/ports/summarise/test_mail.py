"""Mail and news: the part that a person reads, under the subject; hostile headers take no time."""

import io
import zipfile
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.values import Document
from gcs.ports.reader import Summarisers
from gcs.ports.summarise import Options, Source
from tests.limits import cpu_limit

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


def read_mail(content: bytes) -> Document:
    """As `summarise` would, but for what it hides."""
    return Summarisers().read(Source(content, "message/rfc822", "", "fast", Options()))


def test_plain_text_and_subject_are_decoded() -> None:
    document = read_mail(PLAIN)
    assert (document.title, document.text) == ("Grüße", "Schön hier.")


def test_links_of_a_page_in_a_message_are_followed() -> None:
    document = read_mail(BOTH)
    assert (document.title, document.hrefs) == ("Offer", ["https://example.org/more"])


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        (b"Content-Transfer-Encoding: quoted-printable\r\n", b"a=20=\r\nb", "a b"),
        (b'CONTENT-TYPE:\n text/plain;\n\tcharset="utf-8"\nContent-Transfer-Encoding: base64\n', b"w7w=", "ü"),
        (b'Content-Type: multipart/mixed; boundary="a b"\n', b"--a b\n\nfirst\n--a b\n\nsecond\n--a b--", "first"),
        (b"Content-Disposition: attachment\n", b"attached", "attached"),
    ],
)
def test_parts_are_decoded(headers: bytes, body: bytes, text: str) -> None:
    assert read_mail(headers + b"\n" + body).text == text


@pytest.mark.parametrize(
    "head",
    [
        b'Content-Type: multipart/mixed; a="' + b";" * 500_000,  # four minutes in the standard library
        b"Content-Type: multipart/mixed; " + b"a=b;\n " * 100_000,
        b"Subject: " + b"=?utf-8?q?a?= " * 40_000,
        b"From: " + b"(" * 500_000,
        b"".join(b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n" % (n, n) for n in range(20_000)),
    ],
    ids=["quote", "folded", "words", "comment", "nested"],
)
def test_hostile_headers_take_no_time(head: bytes) -> None:
    with cpu_limit(1.0):
        read_mail(head + b"\n\nx")


@given(st.binary())
def test_no_message_can_raise(content: bytes) -> None:
    read_mail(content)


@pytest.mark.parametrize("broken", [b"Content-Type: text/plain; charset=nonsense\n\nx", b"Subject: \xff\xfe\n\nx", b""])
def test_broken_messages_say_what_they_can(broken: bytes) -> None:
    assert read_mail(broken).hrefs == []


def test_subject_in_an_encoding_that_python_lacks_is_read() -> None:
    assert read_mail(b"Subject: =?x-user-defined?q?Ship?=\n\nText").title == "Ship"


def test_attachments_are_read_archives_too() -> None:
    message = EmailMessage()
    message["Subject"] = "The minutes"
    message.set_content("See what is attached.")
    message.add_attachment("<title>t</title><a href='https://example.org/deep'>deep</a><p>Trains run late.", "html")
    inside = io.BytesIO()
    with zipfile.ZipFile(inside, "w") as archive:
        archive.writestr("plan.txt", "The plan of the station.")
    message.add_attachment(inside.getvalue(), "application", "octet-stream", filename="plans.zip")
    document = Summarisers().summarise(message.as_bytes(), "message/rfc822", "mail://localhost/box/0", "fast")
    assert document.title == "The minutes"
    assert document.text.startswith("See what is attached.")
    assert "Trains run late." in document.text and "plans.zip\nplan.txt\nThe plan of the station." in document.text
    assert "https://example.org/deep" in document.hrefs
