"""What is there now, of pages that several sessions have asked for."""

from pathlib import Path

from gcs.ports.records.reading import latest

from .storing import store

A, B, C, GONE, DOWN, LATE = (f"http://example.com/{name}" for name in ("a", "b", "c", "gone", "down", "late"))


def test_latest_is_the_record_that_tells_what_a_page_holds(tmp_path: Path) -> None:
    """Whoever stored it: not a 304, nor an answer that tells nothing; and no page that is gone or leads elsewhere."""
    pages = [{"url": url, "title": "first", "session": 1} for url in (A, B, C, GONE, DOWN, LATE)]
    store(
        tmp_path,
        "g1",
        *pages,
        {"url": A, "session": 2, "status": 304, "held_at_us": 5},
        {"url": GONE, "session": 2, "status": 404, "failure": "http-404"},
        {"url": DOWN, "session": 2, "status": 503, "failure": "http-503", "held_at_us": 5},
        {"url": LATE, "session": 2, "status": 0, "failure": "timeout", "held_at_us": 5},
        {"url": DOWN, "session": 6, "status": 503, "failure": "http-503"},  # after three such sessions, found anew
        {"url": LATE, "session": 6, "status": 0, "failure": "timeout"},
        {"url": B, "title": "third", "session": 3},
    )
    store(
        tmp_path,
        "g0",
        {"url": B, "title": "second", "session": 2},
        {"url": C, "session": 2, "status": 301},
        {"url": f"{A}/new", "title": "second", "session": 2},
        {"url": f"{A}/new", "title": "again", "session": 2},
        {"url": f"{A}/map", "title": "a list", "session": 2, "source": True},
    )
    found = list(latest(tmp_path, ("url", "title")))
    assert sorted(found) == [(A, "first"), (f"{A}/new", "second"), (B, "third"), (DOWN, "first"), (LATE, "first")]
