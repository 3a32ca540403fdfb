"""The address guard, alone and inside every engine."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.values import Failure, FailureKind, Response
from gcs.ports.fetch import aio_engine, curl_engine
from gcs.ports.fetch.guard import forbidden, forbidden_host

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    "address",
    [
        *("0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1"),
        *("169.254.169.254", "168.63.129.16", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1"),
        *("192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9"),
        *("224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1"),
        *("64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1"),
        *("fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "4000::1", "", "nonsense"),
    ],
)
def test_guard_refuses_what_is_not_public(address: str) -> None:
    reason = forbidden(address)
    assert reason is not None
    assert address in reason


@pytest.mark.parametrize(
    "address",
    [
        *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255"),
        *("172.32.0.0", "192.0.1.1", "192.167.255.255", "198.17.255.255", "198.20.0.0", "223.255.255.255"),
        *("2606:4700:4700::1111", "2a00:1450:4001::1", "2001:200::1", "2003::1", "64:ff9b::808:808"),
    ],
)
def test_guard_lets_public_addresses_pass(address: str) -> None:
    assert forbidden(address) is None


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_guard_refuses_all_that_the_standard_library_knows_as_not_global(
    ip: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if ip.is_private or ip.is_multicast or ip.is_loopback or ip.is_link_local or ip.is_reserved or ip.is_unspecified:
        assert forbidden(str(ip)) is not None or ip in ipaddress.ip_network("64:ff9b::/96")


@given(st.ip_addresses(v=4))
def test_guard_sees_through_ipv6_to_the_ipv4_address_inside(inner: ipaddress.IPv4Address) -> None:
    assert (forbidden(f"64:ff9b::{inner}") is None) == (forbidden(str(inner)) is None)
    assert forbidden(f"::ffff:{inner}") is not None


@pytest.mark.parametrize(
    "authority",
    [
        *(
            "127.0.0.1",
            "127.0.0.1:8080",
            "10.1.2.3",
            "[::1]",
            "[::1]:80",
            "[fd00::1]:8080",
            "localhost",
            "LOCALHOST:80",
        ),
        *("localhost.", "www.localhost", "0x7f.1", "2130706433", "user@127.0.0.1", "127.1", "0177.0.0.1"),
    ],
)
def test_guard_refuses_hosts_that_say_they_are_not_public(authority: str) -> None:
    assert forbidden_host(authority) is not None


@pytest.mark.parametrize("authority", ["example.com", "example.com:8080", "8.8.8.8", "[2606:4700::1]:443", "1.example"])
def test_guard_lets_other_hosts_pass(authority: str) -> None:
    assert forbidden_host(authority) is None


def refused(result) -> None:
    assert isinstance(result, Failure), result
    assert result.kind is FailureKind.FORBIDDEN_ADDRESS
    assert "is not a public address (loopback)" in result.message


async def test_engine_refuses_an_address_in_the_url(serve, ask) -> None:
    site = await serve(OK)
    refused(await ask(site.url, allow_private=False))
    assert site.connections == 0


async def test_engine_refuses_an_ipv6_address_in_the_url(serve, ask) -> None:
    try:
        site = await serve(OK, "::1")
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    refused(await ask(site.url, allow_private=False))
    assert site.connections == 0


async def test_engine_refuses_a_name_that_resolves_to_a_private_address(serve, ask) -> None:
    site = await serve(OK)
    settings = {"allow_private": False, "resolve": (f"innocent.example:{site.port}:127.0.0.1",)}
    refused(await ask(f"http://innocent.example:{site.port}/", **settings))
    refused(await ask(f"http://localhost:{site.port}/", allow_private=False))
    assert site.connections == 0


async def test_engine_connects_only_to_the_public_one_of_several_addresses(serve, client, monkeypatch) -> None:
    private = await serve(OK, "127.0.0.1")
    public = await serve(OK, "127.0.0.2", private.port)

    def judge(address: str) -> str | None:
        return None if address == "127.0.0.2" else forbidden(address)

    monkeypatch.setattr(curl_engine, "forbidden", judge)
    monkeypatch.setattr(aio_engine, "forbidden", judge)
    fetching = await client(allow_private=False, resolve=(f"both.example:{private.port}:127.0.0.1,127.0.0.2",))
    result = await fetching.ask(f"http://both.example:{private.port}/")
    assert isinstance(result, Response), result
    assert result.ip == "127.0.0.2"
    assert (private.connections, public.connections) == (0, 1)


async def test_engine_judges_every_connection_anew(serve, client, monkeypatch) -> None:
    """DNS rebinding: what a name meant for the first connection counts for nothing at the second."""

    async def once(conversation) -> None:
        await conversation.send(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        conversation.writer.close()

    site = await serve(once)
    verdicts = [None, "127.0.0.1 is not a public address (loopback)"]
    for module in (curl_engine, aio_engine):
        monkeypatch.setattr(module, "forbidden", lambda _address: verdicts.pop(0))
    fetching = await client(allow_private=False)
    assert isinstance(await fetching.ask(site.url), Response)
    refused(await fetching.ask(site.url))
    assert site.connections == 1
