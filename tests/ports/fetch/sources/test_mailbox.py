"""Mailboxes: a list of messages, each a page; of any size, in linear time."""

import mailbox
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from gcs.core.page.values import FailureKind
from gcs.core.url.sources import source_url
from gcs.ports.fetch.sources import LISTED
from gcs.ports.reader import Summarisers


def message(number: int, text: str = "words") -> EmailMessage:
    made = EmailMessage()
    made["Subject"] = f"Message {number}"
    made.set_content(f"{text} {number}")
    return made


@pytest.fixture(params=["mbox", "maildir"])
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[mailbox.Mailbox]:
    made = mailbox.mbox(tmp_path / "box") if request.param == "mbox" else mailbox.Maildir(tmp_path / "box")
    yield made
    made.close()


async def links_at(ask, url: str, root: str) -> list[str]:
    result = await ask(url, root)
    assert (result.status, result.header("content-type")) == (200, "text/uri-list")
    return [source_url(line, url) for line in result.body.decode().split("\n")]


async def test_mailbox_is_a_list_of_messages(ask, box: mailbox.Mailbox, tmp_path: Path) -> None:
    texts = ["words", "From here on", "x\n\nFrom now on\n\n>From then", "last"]
    for number, text in enumerate(texts):
        box.add(message(number, text))
    box.flush()
    root = source_url(f"mail://localhost{tmp_path}/box/")
    found = {}
    for url in await links_at(ask, root, root):
        page = await ask(url, root)
        assert page.header("content-type") == "message/rfc822"
        document = Summarisers().summarise(page.content, "message/rfc822", url, "fast")
        found[document.title] = document.text
    assert set(found) == {f"Message {number}" for number in range(4)}
    assert "From here on 1" in found["Message 1"] and "From now on" in found["Message 2"]
    assert (await ask(f"{root}99999", root)).status == 404
    assert (await ask(f"{root}..%2F..%2Fpasswd", root)).status == 404
    assert (await ask(f"{root}cur%2F..%2F..%2Fbox2", root)).status == 404


async def test_long_mailbox_is_listed_in_pieces(ask, tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "box")
    for number in range(2 * LISTED + 5):
        box.add(message(number, "word " * 200))
    box.close()
    root, found = source_url(f"mail://localhost{tmp_path}/box/"), []
    url = root
    while url:
        *links, last = await links_at(ask, url, root)
        url = last if "?after=" in last else ""
        found += links if url else [*links, last]
    assert len(found) == len(set(found)) == 2 * LISTED + 5
    assert b"Message 2004" in (await ask(found[-1], root)).content


async def test_message_that_is_too_large_is_said(ask, tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "box")
    box.add(message(0, "word " * 100_000))
    box.add(message(1))
    box.close()
    root = source_url(f"mail://localhost{tmp_path}/box/")
    large, small = await links_at(ask, root, root)
    assert (await ask(large, root, max_body_bytes=100_000)).kind is FailureKind.TOO_LARGE
    assert (await ask(small, root, max_body_bytes=100_000)).status == 200
