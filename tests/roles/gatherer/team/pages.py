"""Records for tests that need no web."""

from gcs.core.page.values import PageRecord


def record(number: int, gatherer: str = "a", status: int = 200) -> PageRecord:
    """A page at depth 3 with two links: to http://lost.example/ and to http://kept.example/."""
    url = f"http://a.example/{number}"
    links = [f"http://lost.example/{number}", f"http://kept.example/{number}"]
    about = ("text/html", 100, "", "", "", "", "")
    return PageRecord(url, url, "", 3, status, 1.0, *about, links, gatherer, "", 0, "", "", "", 0, 0)
