"""Seeds as a user writes them, and what a directory remembers of a crawl."""

from pathlib import Path

import pytest

from gcs.app.crawl_input import SavedCrawl, read_seeds
from gcs.core.url.canonical import is_own
from gcs.core.url.join import DEFAULT
from gcs.settings import load


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("example.org", "https://example.org/"),
        ("Example.ORG:8443/a?b#c", "https://example.org:8443/a?b"),
        ("//example.org/x", "https://example.org/x"),
        ("http://example.org", "http://example.org/"),
        ("bücher.example", "https://xn--bcher-kva.example/"),
        ("8.8.8.8", "https://8.8.8.8/"),
        ("127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
        ("localhost:8080", "http://localhost:8080/"),
        ("10.1.2.3", "http://10.1.2.3/"),
        ("192.168.0.1/a:b", "http://192.168.0.1/a:b"),
        ("[::1]:8080/", "http://[::1]:8080/"),
        ("intranet.internal", "http://intranet.internal/"),
        (" example.org ", "https://example.org/"),
    ],
)
def test_seed_without_a_scheme_is_https_unless_it_is_our_own(text: str, url: str) -> None:
    assert read_seeds((text,), None, DEFAULT) == [url]
    assert url.startswith("https:") or is_own(url) or "://" in text


def test_memory_is_what_was_written(tmp_path: Path) -> None:
    settings = load(None, {}, {"crawl.include": "a,b", "politeness.delay_s": "0.5", "fetch.proxy": "http://p:1"})
    assert SavedCrawl.read(tmp_path) == SavedCrawl()
    SavedCrawl().write(tmp_path, ["http://a.test/", "http://b.test/"], settings)
    held = SavedCrawl.read(tmp_path)
    assert held.seeds == ("http://a.test/", "http://b.test/")
    assert load(None, {}, {}, held.settings) == settings
    assert load(None, {}, {"fetch.proxy": ""}, held.settings).fetch.proxy is None
    mode = (tmp_path / "state" / "settings.json").stat().st_mode
    assert mode & 0o077 == 0, "a proxy may have a password"
