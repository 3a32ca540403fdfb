"""A crawl begun over HTTP: what is refused to whom, and the files that it begins with."""

from pathlib import Path

import pytest

from gcs.app.crawl_input import CrawlRequest, compose_crawl
from gcs.app.station.new_crawl import SEEDS, SETTINGS, CrawlLimits, compose
from gcs.errors import UsageError
from gcs.roles.station.crawls.supervisor import NewCrawl

SEED = "http://127.0.0.1:1/"
LIMITS = CrawlLimits(crawls=1, pages=1000, share=1.0)


def wanted(**more: object) -> NewCrawl:
    return NewCrawl(**{"seeds": [SEED], **more})  # type: ignore[arg-type]


def test_form_and_toml_become_settings_and_the_form_wins(tmp_path: Path) -> None:
    made = compose(tmp_path, wanted(name="n", max_pages=5, toml="[crawl]\nmax_pages = 9\n[traps]\nmax_depth = 3"), None)
    assert (made.settings.crawl.max_pages, made.settings.traps.max_depth) == (5, 3)
    assert made.checked.seeds == [SEED] and made.checked.name == "n"
    made.write()
    assert (tmp_path / "n" / SEEDS).read_text() == f"{SEED}\n"
    again = compose_crawl(tmp_path / "n", CrawlRequest((SEED,), config=tmp_path / "n" / SETTINGS), {})
    assert again.settings == made.settings


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"toml": "[crawl]\nplugins = ['os:system']"}, "crawl.plugins"),
        ({"toml": "[crawl]\norder = 'os:system'"}, "crawl.order"),
        ({"toml": "[store]\nurl = 'file:///etc'"}, "store.url"),
        ({"toml": "[fetch]\nca_file = '/etc/passwd'"}, "fetch.ca_file"),
        ({"toml": "[space]\npatience_s = 1"}, "space.patience_s"),
        ({"toml": "[fetch]\nnonsense = 1"}, "nonsense"),
        ({"toml": "x = 1"}, "outside a [section]"),
        ({"toml": "= ="}, "toml:"),
        ({"seeds": ["/etc"]}, "seeds:"),
        ({"seeds": ["file:///etc/"]}, "seeds:"),
        ({"seeds": ["db:/tmp/x"]}, "seeds:"),
        ({"seeds": ["../x"]}, "seeds:"),
        ({"seeds": ["https://example.org/"]}, "--contact"),
        ({"seeds": ["  "]}, "at least one"),
        ({"name": "there"}, "already"),
    ],
)
def test_what_must_not_be_begun_is_refused_to_operators_too(tmp_path: Path, more: dict[str, object], says: str) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError, match=says.replace("[", r"\[")):
        compose(tmp_path, wanted(**more), None)
    assert [each.name for each in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize(
    "more",
    [
        {"toml": "[fetch]\nallow_private = true"},
        {"toml": "[politeness]\nrobots = false"},
        {"delay_s": 0.1},
        {"share": 2.0},
        {"toml": "[fetch]\nproxy = 'http://127.0.0.1:1'"},
    ],
)
def test_a_token_that_only_begins_crawls_has_limits(tmp_path: Path, more: dict[str, object]) -> None:
    compose(tmp_path, wanted(**more), None)
    with pytest.raises(UsageError):
        compose(tmp_path, wanted(**more), LIMITS)


@pytest.mark.parametrize(("asked", "gets"), [(0, 1000), (10, 10), (10**9, 1000)])
def test_a_token_that_only_begins_crawls_gets_so_many_pages(tmp_path: Path, asked: int, gets: int) -> None:
    assert compose(tmp_path, wanted(max_pages=asked), LIMITS).settings.crawl.max_pages == gets
    toml = f"[crawl]\nmax_pages = {asked}"
    assert compose(tmp_path, wanted(toml=toml), LIMITS).settings.crawl.max_pages == gets


def test_names_follow_from_the_seed_and_never_leave_the_folder(tmp_path: Path) -> None:
    assert compose(tmp_path, wanted(), None).directory == tmp_path / "127.0.0.1"
    (tmp_path / "127.0.0.1").mkdir()
    assert compose(tmp_path, wanted(), None).directory == tmp_path / "127.0.0.1-2"
    assert compose(tmp_path, wanted(seeds=["http://[::1]:1/"]), None).directory.parent == tmp_path
