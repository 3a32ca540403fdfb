from pathlib import Path

import pytest

from gcs.core.url.sortkey import url_of
from gcs.errors import UsageError
from gcs.ports.records import crawl_graph

from .storing import store

A, B, C, GONE = (f"http://example.com/{name}" for name in ("a", "b", "c", "gone"))


def links(place: Path) -> set[tuple[str, str]]:
    data = crawl_graph.read_graph(place)
    urls = [url_of(key) for key in data.keys]
    pairs = zip(data.session.sources.tolist(), data.session.targets.tolist())
    return {(urls[source], urls[target]) for source, target in pairs}


def test_graph_is_what_the_last_session_saw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is what its last answer with a body said; a 304 changes nothing; who stored it does not matter."""
    monkeypatch.setattr(crawl_graph, "_BATCH_LINKS", 2)
    store(
        tmp_path,
        "g1",
        {"url": A, "bytes": 10, "outlinks": [B, C, B, "http://elsewhere.example/"], "session": 1},
        {"url": B, "bytes": 20, "outlinks": [A], "session": 1},
        {"url": GONE, "bytes": 5, "outlinks": [A], "session": 1},
        {"url": A, "bytes": 0, "outlinks": [], "session": 2, "status": 304},
        {"url": A, "bytes": 0, "outlinks": [], "session": 3, "status": 503, "failure": "http-503", "held_at_us": 1},
        {"url": GONE, "bytes": 0, "outlinks": [], "session": 2, "status": 404, "failure": "http-404"},
    )
    store(
        tmp_path,
        "g0",
        {"url": B, "bytes": 21, "outlinks": [C, GONE], "session": 2},
        {"url": C, "bytes": 30, "outlinks": [], "session": 2},
    )
    assert links(tmp_path) == {(A, B), (A, C), (B, C), (B, GONE)}
    data = crawl_graph.read_graph(tmp_path)
    assert [url_of(key) for key in data.keys] == [A, B, C, GONE]
    assert data.session.page_bytes.tolist() == [10, 21, 30, 0]
    assert data.session.url_bytes.tolist() == [len(url) for url in (A, B, C, GONE)]
    assert len(data.session.sources) == 4 and data.hosts == 1


def test_graph_of_nothing_says_what_to_do(tmp_path: Path) -> None:
    store(tmp_path, "g0")
    with pytest.raises(UsageError, match="crawl first"):
        crawl_graph.read_graph(tmp_path)
