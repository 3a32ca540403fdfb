"""Pages as browsers save them."""

from gcs.ports.reader import Summarisers

PAGE = b"""From: <Saved by Blink>\r
Snapshot-Content-Location: https://sea.example/a/page.html\r
Subject: =?utf-8?Q?The=20sea?=\r
MIME-Version: 1.0\r
Content-Type: multipart/related; type="text/html"; boundary="--x1"\r
\r
----x1\r
Content-Type: text/html\r
Content-Transfer-Encoding: quoted-printable\r
Content-Location: https://sea.example/a/page.html\r
\r
<html><title>t</title><p>The sea was calm that morning, and boats lay still in the bay.</p><a href=3D"b.html">x</a>\r
----x1\r
Content-Type: image/png\r
Content-Transfer-Encoding: base64\r
Content-Location: https://sea.example/a/i.png\r
\r
iVBORw0KGgo=\r
----x1--\r
"""


def test_mhtml_is_read_as_its_page() -> None:
    for content_type in ("multipart/related; boundary=y", "application/x-mimearchive"):
        document = Summarisers().summarise(PAGE, content_type, "http://x/a.mhtml", "fast")
        assert document.title == "The sea"
        assert "boats lay still" in document.text
        assert (document.base, document.hrefs) == ("https://sea.example/a/page.html", ["b.html"])
