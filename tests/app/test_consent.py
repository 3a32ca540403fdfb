"""What a charter may ask of a machine only with its owner's consent."""

import pytest

from gcs.app.consent import NEEDS, all_of, check
from gcs.errors import ConsentError, SettingsError, UsageError
from gcs.settings import Settings, load, of_charter

ASKED = {
    "order": ("crawl.order", "mine:score"),
    "plugins": ("crawl.plugins", "shop:Shop"),
    "store": ("store.url", "file:///tmp/away"),
    "sources": ("fetch.sources", "file://localhost/etc/"),
    "private": ("fetch.allow_private", "true"),
    "proxy": ("fetch.proxy", "http://me:secret@proxy.example:3128"),
    "signature": ("fetch.signature_agent", "https://crawler.example"),
    "ca_file": ("fetch.ca_file", "/tmp/ca.pem"),
}


def asking(*names: str) -> Settings:
    return load(None, {}, dict(ASKED[name] for name in names))


def test_every_need_is_tested() -> None:
    assert ASKED.keys() == NEEDS.keys()


@pytest.mark.parametrize("name", ASKED)
def test_charter_needs_consent_for_each(name: str) -> None:
    settings, value = asking(name), ASKED[name][1]
    with pytest.raises(ConsentError, match=f"--allow {name}") as refused:
        check(settings, [other for other in NEEDS if other != name])
    assert "secret" not in str(refused.value) and "\n" not in str(refused.value)
    check(settings, [name])
    if name != "private":
        check(settings, [f"{name}={value}"])
        with pytest.raises(ConsentError):
            check(settings, [f"{name}={value}x"])


def test_what_is_built_in_needs_no_consent() -> None:
    check(Settings(), [])
    for order in ("bfs", "backlink", "opic"):
        check(load(None, {}, {"crawl.order": order, "store.warc": "false"}), [])


def test_order_of_a_seed_server_needs_consent_where_it_is_used() -> None:
    flags = {"seed_server.order": "mine:score"}
    check(load(None, {}, flags), [])
    with pytest.raises(ConsentError, match="order=mine:score"):
        check(load(None, {}, flags | {"team.coordination": "seed-server"}), [], ["order"])


def test_folder_that_is_allowed_covers_what_lies_below() -> None:
    settings = load(None, {}, {"fetch.sources": "file://localhost/srv/docs/a/,file://localhost/srv/docs/"})
    check(settings, ["sources=file://localhost/srv/docs/"])
    for other in ("file://localhost/srv/doc", "file://localhost/srv/docs/a/", ""):
        with pytest.raises(ConsentError):
            check(settings, [f"sources={other}"])


def test_consent_of_who_starts_the_crawl_covers_exactly_the_settings() -> None:
    settings = asking(*ASKED)
    check(settings, all_of(settings).split())
    with pytest.raises(ConsentError):
        check(load(None, {}, {"crawl.order": "theirs:score"}), all_of(settings).split())
    assert all_of(Settings()) == ""


def test_unknown_consent_is_told() -> None:
    with pytest.raises(UsageError, match="ordre: there is no such thing to allow; there are order, plugins, store"):
        check(Settings(), ["ordre=x:y"])


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b'{"crawl": 1}', b'{"crawl": {"name": "../x"}}', b"[" * 100_000])
def test_hostile_settings_of_a_charter_are_one_plain_error(data: bytes) -> None:
    with pytest.raises(SettingsError):
        of_charter(data)
