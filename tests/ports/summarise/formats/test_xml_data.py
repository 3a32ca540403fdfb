"""XML of any kind, and SVG."""

from gcs.ports.reader import Summarisers
from tests.limits import cpu_limit
from tests.packages import xml_bomb

summarise = Summarisers().summarise
SVG = b"""<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
<title>Map of the harbour</title><desc>Where ships lie</desc><style>a{}</style>
<a xlink:href="pier.svg"><text>Pier <tspan>one</tspan> here</text></a><use href="#x"/></svg>"""


def test_svg_has_title_words_and_relative_links() -> None:
    for content_type in ("image/svg+xml", "application/xml", ""):
        document = summarise(SVG, content_type, "http://x/a.svg", "fast")
        assert (document.title, document.description) == ("Map of the harbour", "Where ships lie")
        assert document.text.split() == ["Map", "of", "the", "harbour", "Where", "ships", "lie", "Pier", "one", "here"]
        assert document.hrefs == ["pier.svg"]


def test_xml_has_words_in_their_order() -> None:
    content = b"<book xml:lang='de'><title>Das Meer</title><p>Es <b>war</b> still.</p><link href='https://m.example/'/></book>"
    document = summarise(content, "application/xml", "http://x/", "fast")
    assert (document.title, document.language) == ("Das Meer", "de")
    assert document.text.split() == ["Das", "Meer", "Es", "war", "still."]
    assert document.hrefs == ["https://m.example/"]


def test_xml_bomb_stays_small() -> None:
    document = summarise(xml_bomb("<x>Words&z;</x>"), "application/xml", "http://x/", "fast")
    assert document.text == "Words&z;"


def test_titles_inside_of_titles_take_linear_time() -> None:
    """Each of 250 was searched for words: 4 MB took minutes."""
    for name in (b"title", b"desc"):
        with cpu_limit(5.0):
            summarise(b"<svg>" + b"<%b>" % name * 200 + b"<a/>" * 200_000, "image/svg+xml", "http://x/", "fast")
