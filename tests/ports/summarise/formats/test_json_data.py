"""JSON."""

import json

from gcs.ports.reader import Summarisers

summarise = Summarisers().summarise


def test_json_has_its_texts_and_its_title() -> None:
    content = json.dumps({"title": "Ships", "list": [{"name": "Maria"}, 7, None], "last": "end"}).encode()
    document = summarise(content, "application/json", "http://x/", "fast")
    assert (document.title, document.text) == ("Ships", "Ships\nMaria\nend")


def test_json_feed_has_links() -> None:
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "News",
        "home_page_url": "https://n.example/",
        "items": [{"id": "1", "url": "https://n.example/1", "content_text": "One"}, 3],
    }
    document = summarise(json.dumps(feed).encode(), "application/feed+json", "http://x/", "fast")
    assert document.hrefs == ["https://n.example/", "https://n.example/1"]


def test_json_that_is_too_deep_or_none_is_read_as_text() -> None:
    for content in (b"[" * 100_000, b"{not json"):
        assert summarise(content, "application/json", "http://x/", "fast").text
