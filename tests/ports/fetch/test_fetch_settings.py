"""Settings of the fetch port: what cannot work is told before a crawl begins."""

import pytest

from gcs.errors import SettingsError
from gcs.ports.fetch import FetchSettings, one_line, proxy_name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("user_agent", "gcs\r\nX-Smuggled: 1"),
        ("user_agent", "gcs \u4e2d"),
        ("from_address", "me\nX: y"),
        ("headers", ("no colon",)),
        ("headers", ("Bad Name: x",)),
        ("headers", ("X: a\r\nY: b",)),
        ("headers", ("Host: elsewhere",)),
        ("headers", ("accept-encoding: br",)),
        ("proxy", "127.0.0.1:3128"),
        ("proxy", "ftp://127.0.0.1:21"),
        ("proxy", "socks5://127.0.0.1:1080"),
        ("resolve", ("host",)),
        ("resolve", ("host:80:name.example",)),
        ("connect_timeout_s", 0),
        ("total_timeout_s", -1),
        ("max_body_bytes", 0),
        ("connections", 0),
    ],
)
def test_settings_refuse_what_cannot_work(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match="fetch"):
        FetchSettings(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("headers", ("Accept-Language: en", "X-Empty:", "Cookie: consent=1")),
        ("proxy", "http://me:pass%40word@proxy.example:3128"),
        ("proxy", "socks5h://[::1]:1080"),
        ("resolve", ("host.example:443:192.0.2.1,[2001:db8::1]", "h:80:::1")),
    ],
)
def test_settings_take_what_works(name: str, value: object) -> None:
    assert getattr(FetchSettings(**{name: value}), name) == value  # type: ignore[arg-type]


def test_proxy_name_keeps_the_password_back() -> None:
    assert proxy_name("http://me:secret@proxy.example:3128/") == "proxy.example:3128"


def test_one_line_is_one_line() -> None:
    assert one_line(" a\r\n\tb  c ") == "a b c"
    assert len(one_line("x" * 10_000)) == 300
