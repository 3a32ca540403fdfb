"""Settings: file < environment < flags, every key documented, every mistake named with its place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs import __version__
from gcs.errors import SettingsError
from gcs.settings import Settings, differences, documentation, load, types, with_user_agent

DEFAULTS = Settings()


@pytest.fixture
def toml(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        file = tmp_path / "crawl.toml"
        file.write_text(text)
        return file

    return write


def value(settings: Settings, dotted: str) -> Any:
    section, _, key = dotted.partition(".")
    return getattr(getattr(settings, section), key)


def test_settings_without_sources_are_the_defaults() -> None:
    assert load(None, {"PATH": "/bin", "HOME": "/root"}, {}) == DEFAULTS
    assert differences(DEFAULTS) == {}


@pytest.mark.parametrize(
    ("sources", "delay_s"),
    [("", 1.0), ("b", 9.0), ("f", 2.0), ("bf", 2.0), ("e", 3.0), ("fe", 3.0), ("x", 4.0), ("bfex", 4.0), ("fx", 4.0)],
)
def test_settings_nearer_sources_win(toml: Callable[[str], Path], sources: str, delay_s: float) -> None:
    """b: an earlier run of the crawl, f: file, e: environment, x: flag."""
    file = toml("[politeness]\ndelay_s = 2\nrobots_tries = 7\n") if "f" in sources else None
    environment = {"GCS_POLITENESS_DELAY_S": "3"} if "e" in sources else {}
    flags = {"politeness.delay_s": "4" if "x" in sources else None}
    before = {"politeness.delay_s": 9.0} if "b" in sources else {}
    settings = load(file, environment, flags, before)
    assert settings.politeness.delay_s == delay_s
    assert settings.politeness.robots_tries == (7 if file else 3), "what the nearer ones do not say stays"


def test_every_key_is_documented_once() -> None:
    documented = [key for key, _, _ in documentation()]
    assert documented == list(types())
    for key, default, text in documentation():
        assert text, f"{key} has no #: comment"
        assert default == value(DEFAULTS, key)


def test_every_key_can_be_set_by_environment() -> None:
    changed = {"crawl.name": "x", "politeness.delay_s": "7", "fetch.allow_private": "true", "crawl.include": "a, b"}
    names = {f"GCS_{key.replace('.', '_').upper()}": key for key in types()}
    assert len(names) == len(types()), "no two keys share a variable"
    environment = {name: changed[key] for name, key in names.items() if key in changed}
    settings = load(None, environment, {})
    assert differences(settings) == {
        "crawl.name": "x",
        "politeness.delay_s": 7.0,
        "fetch.allow_private": True,
        "crawl.include": ("a", "b"),
    }


@pytest.mark.parametrize(
    ("text", "expected"), [("true", True), ("1", True), ("false", False), ("0", False), ("True", True)]
)
def test_settings_read_truth_from_text(text: str, expected: bool) -> None:
    assert load(None, {}, {"store.warc": text}).store.warc is expected


@pytest.mark.parametrize(
    ("environment", "flags", "message"),
    [
        ({"GCS_POLITENESS_DELAY": "1"}, {}, "environment: unknown setting GCS_POLITENESS_DELAY; did you mean 'GCS_POL"),
        ({"GCS_POLITENESS_DELAY_S": "x"}, {}, "environment: politeness.delay_s is 'x': give a number"),
        ({"GCS_ZZZZZZ": "x"}, {}, "environment: unknown setting GCS_ZZZZZZ; known sections: crawl, politeness, "),
        ({}, {"fetch.conections": "3"}, "command line: unknown setting 'fetch.conections'; did you mean 'fetch.connec"),
        ({}, {"qqq": "3"}, "command line: unknown setting 'qqq'; known sections: "),
        ({}, {"crawl.max_pages": "many"}, "command line: crawl.max_pages is 'many': give a whole number"),
        ({}, {"crawl.max_pages": "-1"}, "crawl.max_pages is '-1': it must not be negative or without end"),
        ({}, {"politeness.delay_s": "nan"}, "politeness.delay_s is 'nan': it must not be negative or without end"),
        ({}, {"crawl.scope": "all"}, "command line: crawl.scope is 'all': give prefix, host, domain, any"),
        ({}, {"crawl.include": 3}, "command line: crawl.include is 3: give a list of texts"),
        ({}, {"store.warc_level": "9"}, "warc_level is 9: it must be 0, 1, 2 or 3"),
        ({}, {"fetch.proxy": "x"}, "'x' is not a proxy"),
    ],
)
def test_settings_name_what_is_wrong_and_where(
    environment: dict[str, str], flags: dict[str, object], message: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        load(None, environment, flags)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert raised.value.exit_code == 2


def test_variables_that_are_no_settings_are_left_alone() -> None:
    assert load(None, {"GCS_SPACE": "redis://127.0.0.1/"}, {}) == DEFAULTS


def test_user_agent_says_who_crawls_and_where_to_complain() -> None:
    assert with_user_agent(DEFAULTS).fetch.user_agent == f"gcs/{__version__}"
    named = load(None, {}, {"crawl.contact": "me@example.org"})
    assert with_user_agent(named).fetch.user_agent == f"gcs/{__version__} (+me@example.org)"
    own = load(None, {}, {"crawl.contact": "me@example.org", "fetch.user_agent": "Mine/2"})
    assert with_user_agent(own).fetch.user_agent == "Mine/2"


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "crawl.max_pages": st.integers(0, 2**40),
            "crawl.include": st.lists(st.sampled_from(["a,b", "x{1,2}", "ö", '"', "\\."]), max_size=3).map(tuple),
            "crawl.scope": st.sampled_from(["host", "domain", "any"]),
            "politeness.delay_s": st.floats(0, 1e9),
            "fetch.proxy": st.sampled_from([None, "http://p:1", "socks5h://u:p@[::1]:9"]),
            "store.warc": st.booleans(),
        },
    )
)
def test_differences_bring_the_same_settings_back(flags: dict[str, object]) -> None:
    """Also by way of JSON, as a crawl directory keeps them."""
    settings = load(None, {}, flags)
    kept = msgspec.json.decode(msgspec.json.encode(differences(settings)))
    assert load(None, {}, {}, kept) == settings


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ('["/doc/\\\\d+", "a,b"]', ("/doc/\\d+", "a,b")),
        ("[]", ()),
        ("[a-z]+x,y", ("[a-z]+x", "y")),
    ],
)
def test_a_list_is_read_as_it_is_printed(text: str, patterns: tuple[str, ...]) -> None:
    """`gcs settings` prints JSON; before, `--set crawl.include=["re"]` made a pattern that matched nothing."""
    assert load(None, {}, {"crawl.include": text}).crawl.include == patterns


def test_variables_that_name_servers_are_no_settings() -> None:
    assert load(None, {"GCS_DB_SHOP": "sqlite:///x", "GCS_MAIL_WORK": "imaps://a@b/"}, {}) == load(None, {}, {})
