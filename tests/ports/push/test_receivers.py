"""Each kind of receiver takes matches, or says that it did not; no secret is in what is said."""

import asyncio
from email import message_from_bytes, policy
from pathlib import Path

import msgspec
import pytest
import redis

from gcs.core.watch.profile import Match
from gcs.core.watch.push_target import PushTarget
from gcs.core.watch.signature import make_secret
from gcs.ports.push import PushError
from gcs.ports.push.digest_mail import MailReceiver
from gcs.ports.push.match_stream import StreamReceiver
from gcs.ports.push.webhook import PublicResolver, WebhookReceiver
from gcs.ports.space.embedded_server import EmbeddedServer

from .receivers import HookServer, MailServer

SECRET = make_secret(bytes(32))


def match(number: int, **given: object) -> Match:
    made = Match(f"id{number}", "news", "new", f"http://a.example/{number}", f"Page {number}", "red", "en", 1, 5.0)
    return msgspec.structs.replace(made, **given)


async def test_webhook_is_signed_and_answers_for_itself() -> None:
    receiver = WebhookReceiver()
    async with HookServer(SECRET) as server:
        target = PushTarget.parse(server.url())
        await receiver.push(target, SECRET, [match(1)])
        assert (server.taken[0]["id"], server.taken[0]["type"], server.taken[0]["data"]["url"]) == (
            "id1", "page.new", "http://a.example/1"
        )  # fmt: skip
        for status in (500, 404, 302, 429):
            server.behave = lambda _, status=status: status
            with pytest.raises(PushError, match=f"HTTP {status}"):
                await receiver.push(target, SECRET, [match(2)])
        assert len(server.taken) == 1 and server.tries == 5, "no redirect is followed"
    with pytest.raises(PushError) as error:
        await receiver.push(PushTarget.parse(server.url("secret-path")), SECRET, [match(3)])
    assert "secret-path" not in str(error.value)
    await receiver.close()


async def test_digest_is_one_mail_and_pages_cannot_add_headers() -> None:
    receiver = MailReceiver()
    async with MailServer() as server:
        address = f"smtp://me:pass@127.0.0.1:{server.port}/?to=me@example.org&from=gcs@example.org"
        target = PushTarget.parse(address)
        await receiver.push(target, "", [match(1, title="x\r\nBcc: all@example.org"), match(2, diff="- a\n+ b")])
        mail = message_from_bytes(server.messages[0].removesuffix(b"\r\n.\r\n"), policy=policy.default)
        assert mail["To"] == "me@example.org" and mail["Bcc"] is None and server.logins == 1
        assert mail["Message-ID"] == "<id1.id2@gcs.invalid>" and mail["Subject"] == "news: 2 pages"
        body = mail.get_content()
        assert "http://a.example/1" in body and "+ b" in body and "x Bcc: all@example.org" in body
        server.refuses = True
        with pytest.raises(PushError, match="SMTP 451"):
            await receiver.push(target, "", [match(3)])
    with pytest.raises(PushError) as error:
        await receiver.push(target, "", [match(3)])
    assert "pass" not in str(error.value)


async def test_stream_holds_an_entry_for_each_match(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / "space")
    url = server.start()
    receiver = StreamReceiver()
    target = PushTarget("stream", f"{url}?stream=found")
    try:
        await receiver.push(target, "", [match(1), match(2)])
        client = redis.Redis.from_url(url)
        entries = [entry for _, entry in client.xrange("found")]
        client.close()
        assert [entry[b"id"] for entry in entries] == [b"id1", b"id2"]
        assert msgspec.json.decode(entries[0][b"match"], type=Match) == match(1)
    finally:
        await asyncio.to_thread(server.stop)
    with pytest.raises(PushError):
        await receiver.push(target, "", [match(3)])
    await receiver.close()


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "10.0.0.1", "[::1]", "169.254.169.254", "0x7f.1", "2130706433", "127.1", "[fe80::1]"],
)
async def test_public_webhook_is_never_sent_to_an_address_that_is_none(host: str) -> None:
    """Who names it may not own the machine: nothing behind its walls is asked."""
    receiver = WebhookReceiver(is_public=True)
    async with HookServer(SECRET) as server:
        port = server.url().rpartition(":")[2].partition("/")[0]
        with pytest.raises(PushError, match="public address"):
            await receiver.push(PushTarget.public_webhook(f"http://{host}:{port}/"), SECRET, [match(1)])
        assert server.tries == 0
    await receiver.close()


async def test_public_webhook_is_checked_where_it_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that means a public address when it is checked, and another when it is connected to, gains nothing."""
    answers = iter(["93.184.216.34", "127.0.0.1"])

    async def resolve(*_: object) -> list[dict[str, object]]:
        return [{"hostname": "x", "host": next(answers), "port": 80, "family": 2, "proto": 0, "flags": 0}]

    monkeypatch.setattr("aiohttp.ThreadedResolver.resolve", resolve)
    resolver = PublicResolver()
    assert [each["host"] for each in await resolver.resolve("a.example")] == ["93.184.216.34"]
    with pytest.raises(OSError, match="public"):
        await resolver.resolve("a.example")


async def test_mail_server_that_never_ends_its_answer_is_left() -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(b"220-more\r\n" * 1_000)
                await writer.drain()
        except ConnectionError:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    target = PushTarget.parse(f"smtp://127.0.0.1:{port}/?to=me@example.org")
    with pytest.raises(PushError):
        await MailReceiver().push(target, "", [match(1)])
    server.close()
