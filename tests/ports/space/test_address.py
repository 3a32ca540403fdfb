"""--space URLs, taken apart; and what is said of bad ones."""

import pytest

from gcs.errors import UsageError
from gcs.ports.space.address import SpaceAddress, parse


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("unix:///a/b%20c", SpaceAddress(socket="/a/b c")),
        ("redis://h", SpaceAddress(hosts=(("h", 6379),))),
        ("redis://h:7000/2", SpaceAddress(hosts=(("h", 7000),), db=2)),
        ("redis://u:p%40x@h", SpaceAddress(hosts=(("h", 6379),), user="u", password="p@x")),
        ("redis://:p@h", SpaceAddress(hosts=(("h", 6379),), password="p")),
        ("redis://[::1]:7000", SpaceAddress(hosts=(("::1", 7000),))),
        ("redis://[::1]", SpaceAddress(hosts=(("::1", 6379),))),
        (
            "rediss://u:p@h?ca=/ca.pem&cert=/c.pem&key=/k.pem",
            SpaceAddress(
                hosts=(("h", 6379),),
                tls=True,
                user="u",
                password="p",
                options={"ca": "/ca.pem", "cert": "/c.pem", "key": "/k.pem"},
            ),
        ),
        (
            "redis+sentinel://u:p@s1,s2:7/mymaster/3?sentinel_password=q",
            SpaceAddress(
                kind="sentinel",
                hosts=(("s1", 26379), ("s2", 7)),
                user="u",
                password="p",
                db=3,
                master="mymaster",
                options={"sentinel_password": "q"},
            ),
        ),
        (
            "rediss+cluster://a:1,b:2,c:3",
            SpaceAddress(kind="cluster", tls=True, hosts=(("a", 1), ("b", 2), ("c", 3))),
        ),
    ],
)
def test_address_parse(url, address):
    assert parse(url) == address


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://u:secret@h", "the scheme is none of unix, redis, rediss, redis.sentinel"),
        ("h:6379", "the scheme is none of"),
        ("unix://socket", "unix:///path/to/socket"),
        ("redis://", "'' is not host:port"),
        ("redis://u:secret@h:x", "'h:x' is not host:port"),
        ("redis://h:99999", "is not host:port"),
        ("redis://h/name", "'name' is not a database number"),
        ("redis+cluster://u:secret@h/1", "is not a database number"),
        ("redis+sentinel://u:secret@h", "name the master"),
        ("redis://u:secret@h?ssl=yes", "unknown option 'ssl'; there are ca,"),
    ],
)
def test_address_says_what_is_wrong_without_the_password(url, message):
    with pytest.raises(UsageError, match=message) as raised:
        parse(url)
    assert "secret" not in str(raised.value)


def test_address_prints_without_its_password():
    address = parse("rediss+cluster://u:secret@a:1,b:2?ca=/x")
    assert str(address) == "rediss+cluster://u@a:1,b:2"
    assert "secret" not in repr(address)


def test_address_login_of_tls():
    login = parse("rediss://h?verify=no").login()
    assert (login["ssl"], login["ssl_cert_reqs"], login["ssl_check_hostname"]) == (True, "none", False)
    assert "ssl_cert_reqs" not in parse("rediss://h?ca=/x").login(), "verified unless told otherwise"
    assert "ssl" not in parse("redis://h").login()
