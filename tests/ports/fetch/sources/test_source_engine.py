"""The engine in front of the others."""

from pathlib import Path

import pytest

from gcs.core.page.values import FailureKind
from gcs.errors import SettingsError
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.sources import source_engine


async def test_web_pages_go_on_to_the_webs_engine(ask) -> None:
    result = await ask("http://127.0.0.1:9/", "file://localhost/srv/")
    assert result.kind is FailureKind.FORBIDDEN_ADDRESS
    assert "127.0.0.1" in result.message


async def test_sources_that_nobody_named_are_not_read(ask, tmp_path: Path) -> None:
    for url in ("file://localhost/etc/passwd", "db://localhost/srv/shop.db/", "nntp://127.0.0.1/misc.test/"):
        assert (await ask(url, f"file://localhost{tmp_path}/")).kind is FailureKind.FORBIDDEN_ADDRESS


async def test_whatever_goes_wrong_there_is_an_answer(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_engine, "read_file", None)
    assert (await ask("file://localhost/srv/", "file://localhost/srv/")).kind is FailureKind.PROTOCOL


@pytest.mark.parametrize("source", ["/srv/docs", "file:///srv/docs", "http://example.org/"])
def test_settings_take_sources_in_their_one_spelling(source: str) -> None:
    with pytest.raises(SettingsError, match="is not a source"):
        FetchSettings(sources=(source,))
