"""Records for tests that need no web."""

from gcs.core.page.values import PageRecord


def record(number: int, gatherer: str = "a", status: int = 200) -> PageRecord:
    """A page at depth 3 with two links: to http://lost.example/ and to http://kept.example/."""
    url = f"http://a.example/{number}"
    links = [f"http://lost.example/{number}", f"http://kept.example/{number}"]
    return PageRecord(
        url=url, final_url=url, parent="", depth=3, status=status, fetched_at=1.0, content_type="text/html", bytes=100,
        outlinks=links, gatherer=gatherer,
    )  # fmt: skip
