"""What can happen between us and a server: logins, TLS, Sentinel, limits of the server, servers that are not there."""

import asyncio
import contextlib
import logging
import shutil
import socket
import struct
import subprocess
import threading

import pytest
import uvloop
from redis.exceptions import TimeoutError

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Link, Seeds, UrlBlock
from gcs.errors import SpaceError
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.port import Numbered
from gcs.ports.space.redis_space import crawls_at, open_space

from .servers import Server, binary_of, free_port

SEEDS = template(Seeds)
IMPATIENT = SpaceSettings(patience_s=0.3)


@pytest.fixture
def redis(tmp_path):
    """Starts servers with options."""
    binary = binary_of("redis 7") or binary_of("valkey") or pytest.skip("no redis-server 7 or valkey-server here")
    running: list[Server] = []

    def start(*options: str, **more: object) -> Server:
        running.append(Server(binary, tmp_path / f"server{len(running)}", *options, **more))
        return running[-1]

    yield start
    for server in running:
        server.end()


async def works(url: str, settings: SpaceSettings | None = None) -> bool:
    space = await open_space(url, crawl="c", name="g", settings=settings)
    try:
        await space.out(Seeds(["http://a/"]), to="seeds")
        taken = await space.take(SEEDS, at="seeds", timeout_s=5)
        return await space.ack([taken]) == 1
    finally:
        await space.close()


async def test_server_that_is_too_slow_to_say_goodbye_is_left(redis, monkeypatch):
    async def times_out(_: object) -> None:
        raise TimeoutError("Timed out closing connection after 5")

    space = await open_space(redis().url, crawl="c", name="g")
    with monkeypatch.context() as slow:
        slow.setattr("redis.asyncio.Redis.aclose", times_out)
        await space.close()
    await space.close()


async def test_connection_waits_for_a_server_that_is_not_there_yet(redis, caplog):
    port = free_port()
    with caplog.at_level(logging.INFO, "gcs.space"):
        waiting = asyncio.create_task(works(f"redis://127.0.0.1:{port}"))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        redis(port=port)
        assert await waiting
    assert caplog.messages.count("space.unreachable") == 1
    assert caplog.messages.count("space.reached") == 1


async def test_connection_tells_once_that_its_server_is_gone_and_once_that_it_is_back(redis, caplog):
    """However often it is asked meanwhile: a station looks every second."""
    server = redis()
    space = await open_space(server.url, crawl="c", name="g", settings=IMPATIENT)
    try:
        with caplog.at_level(logging.INFO, "gcs.space"):
            server.end()
            for _ in range(3):
                with pytest.raises(SpaceError, match="did not answer"):
                    await space.read(SEEDS, at="seeds")
            assert caplog.messages == ["space.unreachable"]
            redis(port=server.port)
            assert await space.read(SEEDS, at="seeds") is None
            assert caplog.messages == ["space.unreachable", "space.reached"]
    finally:
        await space.close()


async def test_connection_ends_a_wait_that_is_cancelled_at_any_moment(redis):
    """Also while a command is being written: redis-py waits for that in a way that can swallow the cancellation."""
    server = redis()
    for steps in range(40):
        space = await open_space(server.url, crawl="c", name="g")
        waiting = asyncio.create_task(space.read(SEEDS, at="seeds", timeout_s=0.1))
        for _ in range(steps):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting], timeout=10)
        assert waiting.cancelled(), f"after {steps} steps"
        await space.close()


async def test_connection_gives_up_after_its_patience():
    with pytest.raises(SpaceError, match=r"did not answer for 0\.3 s .*is it running\?"):
        await open_space(f"redis://127.0.0.1:{free_port()}", crawl="c", name="g", settings=IMPATIENT)


async def test_connection_tells_a_server_that_refuses_from_one_that_is_not_there(redis):
    server = redis("--min-replicas-to-write", "1")
    with pytest.raises(SpaceError, match=r"has refused for 0\.3 s: NOREPLICAS .*; see to that first"):
        await works(server.url, IMPATIENT)


async def test_connection_to_a_wrong_address_fails_soon_and_a_later_outage_is_waited_for(redis):
    settings = SpaceSettings(open_s=0.2, patience_s=60)
    with pytest.raises(SpaceError, match=r"did not answer for 0\.2 s .*is it running\?"):
        await open_space(f"redis://127.0.0.1:{free_port()}", crawl="c", name="g", settings=settings)
    server = redis()
    space = await open_space(server.url, crawl="c", name="g", settings=settings)
    server.end()
    waiting = asyncio.create_task(space.out(Seeds(["http://b/"]), to="seeds"))
    await asyncio.sleep(0.5)
    assert not waiting.done()
    redis(port=server.port)
    await waiting
    await space.close()


async def test_connection_survives_a_server_that_forgot_everything(redis):
    """A restart without a file: streams, groups and scripts are gone, and a take that waits goes on."""
    server = redis()
    space = await open_space(server.url, crawl="c", name="g")
    waiting = asyncio.create_task(space.take(SEEDS, at="seeds", timeout_s=None))
    await asyncio.sleep(0.05)
    server.end()
    await asyncio.sleep(0.02)
    redis(port=server.port)
    await space.out(Seeds(["http://b/"]), to="seeds")
    assert (await waiting).item == Seeds(["http://b/"])
    await space.close()


async def test_connection_survives_somebody_deleting_a_stream(on_redis):
    space = await on_redis.open("g")
    waiting = asyncio.create_task(space.take(SEEDS, at="seeds", timeout_s=None))
    await asyncio.sleep(0.05)
    await space._connection.command("DEL", space._keys.inbox("seeds", Seeds).stream)
    await space.out(Seeds(["http://a/"]), to="seeds")
    assert (await waiting).item == Seeds(["http://a/"])


async def test_connection_with_acl_user(redis):
    server = redis("--user", "crawler", "on", ">secret", "~{gcs:*", "+@all", "--user", "default", "off")
    at = f"127.0.0.1:{server.port}"
    assert await works(f"redis://crawler:secret@{at}")
    with pytest.raises(SpaceError, match=r"redis://crawler@127\.0\.0\.1.*(WRONGPASS|invalid username-password)"):
        await works(f"redis://crawler:wrong@{at}", IMPATIENT)
    with pytest.raises(SpaceError, match=r"(?i)auth"):
        await works(f"redis://{at}", IMPATIENT)


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl here to make a certificate")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
    names = ("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate))
    subprocess.run([*make, *names], check=True, capture_output=True)
    return certificate, key


async def test_connection_over_tls(redis, certificate):
    tls_port = free_port()
    names = ("--tls-cert-file", "--tls-key-file", "--tls-ca-cert-file")
    files = zip(names, (*certificate, certificate[0]))
    options = [word for name, file in files for word in (name, str(file))]
    try:
        redis("--tls-port", str(tls_port), "--tls-auth-clients", "no", *options)
    except AssertionError:
        pytest.skip("this server was built without TLS")
    at = f"127.0.0.1:{tls_port}"
    assert await works(f"rediss://{at}?ca={certificate[0]}")
    assert await works(f"rediss://{at}?verify=no")
    with pytest.raises(SpaceError, match=r"(?i)certificate"):
        await works(f"rediss://{at}", IMPATIENT)


async def until(true) -> None:
    """Wait for what another process does."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.02)


async def test_connection_through_sentinel_follows_the_master(redis, tmp_path):
    master = redis()
    replica = redis("--replicaof", f"127.0.0.1 {master.port}")
    config = tmp_path / "sentinel.conf"
    config.write_text(
        f"sentinel monitor crawl 127.0.0.1 {master.port} 1\n"
        "sentinel down-after-milliseconds crawl 200\nsentinel failover-timeout crawl 1000\n"
    )
    sentinel = redis("--sentinel", config=config)
    await until(lambda: b"master_link_status:up" in replica.ask("INFO", "replication"))
    await until(lambda: str(replica.port).encode() in sentinel.ask("SENTINEL", "REPLICAS", "crawl"))
    url = f"redis+sentinel://127.0.0.1:{sentinel.port}/crawl"
    space = await open_space(url, crawl="c", name="g", settings=SpaceSettings(patience_s=60))
    await space.out(Seeds(["http://a/"]), to="seeds")
    await until(lambda: b"http://a/" in replica.ask("XRANGE", "{gcs:c:seeds}:seeds", "-", "+"))
    master.end()
    await space.out(Seeds(["http://b/"]), to="seeds")  # waits for the fail-over
    taken = await space.take_many([SEEDS], at="seeds", limit=9)
    assert [each.item.urls for each in taken] == [["http://a/"], ["http://b/"]]
    await space.close()


async def test_connection_to_a_node_of_a_cluster_says_how_to_name_it(cluster):
    node = cluster.removeprefix("redis+cluster://").split(",")[0]
    with pytest.raises(SpaceError, match=r"is a node of a cluster: give it as redis\+cluster://"):
        for name in "abcdefgh":  # one of them is not on this node
            space = await open_space(f"redis://{node}", crawl=name, name="g")
            try:
                await space.ticket("x")
            finally:
                await space.close()


async def test_cluster_spreads_the_inboxes_over_its_nodes(cluster):
    space = await open_space(cluster, crawl="spread", name="g")
    for number in range(30):
        await space.out(Seeds(["http://a/"]), to=f"g{number}")
    client = space._connection._client  # type: ignore[attr-defined]
    nodes = {client.get_node_from_key(f"{{gcs:spread:g{number}}}:seeds").port for number in range(30)}
    assert len(nodes) == 3
    assert len(await space.inbox_sizes()) == 30
    assert "spread" in await crawls_at(cluster)
    await space.close()


async def test_server_that_evicts_is_refused(redis):
    server = redis("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    with pytest.raises(SpaceError, match=r"drops keys when its memory is full .*allkeys-lru.* set it to noeviction"):
        await open_space(server.url, crawl="c", name="g")


async def test_server_out_of_memory_is_a_full_inbox_and_can_still_be_emptied(redis):
    server = redis("--maxmemory", "12mb", "--maxmemory-policy", "noeviction")
    space = await open_space(server.url, crawl="c", name="g")
    noise = "".join(map(chr, range(33, 127)))
    put = 0
    while True:
        links = [Link(f"http://{put}/{hash((put, i, noise))}" * 20) for i in range(200)]
        receipt = await space.out_many(UrlBlock, [UrlBlock(put, links)], to="g", numbered=Numbered("s", 1, put + 1))
        if receipt.full:
            break
        put += receipt.accepted
    assert receipt.accepted == 0
    assert put > 0
    taken = []
    while batch := await space.take_many([template(UrlBlock)], at="g", limit=50):
        assert await space.ack(batch) == len(batch)
        taken += batch
    assert [each.number for each in taken] == list(range(1, put + 1))
    assert [inbox.size_bytes for inbox in await space.inbox_sizes()] == [0]
    await space.close()


def test_connection_that_is_closed_just_when_it_is_made_is_an_error_of_ours():
    """As a proxy does whose server is away. uvloop tells of it by a RuntimeError now and then: many tries."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        url = f"redis://127.0.0.1:{listener.getsockname()[1]}"

        async def knock() -> None:
            for _ in range(500):
                with pytest.raises(SpaceError):
                    await open_space(url, crawl="c", name="g", settings=SpaceSettings(open_s=0.0))

        uvloop.run(knock())
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


async def test_connection_maps_other_errors(on_redis):
    space = await on_redis.open("g")
    with pytest.raises(SpaceError, match="unknown command"):
        await space._connection.command("NOSUCHCOMMAND")
