"""Mailboxes on servers, from a Dovecot on loopback (`scripts/test` installs it)."""

import os
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path

import pytest

from gcs.core.page.values import FailureKind
from gcs.core.url.sources import source_url
from gcs.ports.fetch.sources import LISTED, MISSING, Answer
from gcs.ports.fetch.sources.imap import read_mail_server

CONF = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <{folder}/cert.pem
ssl_key = <{folder}/key.pem
disable_plaintext_auth = no
default_internal_user = {user}
default_login_user = {user}
default_internal_group = {group}
first_valid_uid = 1
first_valid_gid = 1
mail_location = maildir:{folder}/mail
service anvil {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
  }}
}}
passdb {{
  driver = static
  args = password=se@cret
}}
userdb {{
  driver = static
  args = uid={user} gid={group} home={folder}/home
}}
"""


def message(number: int) -> bytes:
    mail = EmailMessage()
    mail["Subject"], mail["From"] = f"Letter {number}", "ann@example.org"
    mail.set_content(f"This is letter {number}.\n")
    return mail.as_bytes()


def port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def dovecot() -> Iterator[tuple[int, int, Path]]:
    """Its port, the one with TLS, and its folder."""
    if not shutil.which("dovecot") or os.getuid() != 0:
        pytest.skip("there is no dovecot here (dovecot-imapd), or no right to start it")
    user, plain, tls = "nobody", port(), port()
    with tempfile.TemporaryDirectory(prefix="gcs-imap-") as name:
        folder = Path(name)
        key = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-subj", "/CN=localhost"]
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                *key,
                "-addext",
                "subjectAltName=DNS:localhost",
            ],
            check=True,
            capture_output=True,
        )
        for box, count in (("", 3), (".Sent", 1), (".Two &AOQ- words", 2), (".many", LISTED + 5)):
            for part in ("cur", "new", "tmp"):
                (folder / "mail" / box / part).mkdir(parents=True)
            for number in range(1, count + 1):
                (folder / "mail" / box / "cur" / f"{number:06}.M{number}.host:2,S").write_bytes(message(number))
        shutil.chown(folder, user)
        for path in folder.rglob("*"):
            shutil.chown(path, user)
        folder.chmod(0o755)
        (folder / "conf").write_text(CONF.format(folder=folder, user=user, group="nogroup", port=plain, tls_port=tls))
        server = subprocess.Popen(["dovecot", "-F", "-c", folder / "conf"], stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + 60
            while True:
                with socket.socket() as probe:
                    if not probe.connect_ex(("127.0.0.1", plain)):
                        break
                assert server.poll() is None and time.monotonic() < until, "dovecot does not start"
                time.sleep(0.05)
            yield plain, tls, folder
        finally:
            server.terminate()
            server.wait()


@pytest.fixture
def known(dovecot: tuple[int, int, Path], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GCS_MAIL_WORK", f"imap://ann:se%40cret@127.0.0.1:{dovecot[0]}/")
    return source_url("mail://work/")


def ask(inside: str, after: str = "", max_bytes: int = 1 << 20, ca_file: str | None = None) -> Answer | FailureKind:
    return read_mail_server("work", inside, after, max_bytes, timeout_s=20, ca_file=ca_file)


def names(answer: Answer | FailureKind) -> list[str]:
    assert isinstance(answer, Answer)
    return answer.body.decode().splitlines()


def test_a_mailbox_is_a_list_of_folders_and_a_folder_one_of_messages(known: str) -> None:
    assert known == "mail://work/"
    assert names(ask("")) == ["./INBOX/", "./Sent/", "./Two%20%26AOQ-%20words/", "./many/"]
    assert names(ask("INBOX/")) == ["./1", "./2", "./3"]
    assert names(ask("Two%20%26AOQ-%20words/")) == ["./1", "./2"]
    found = ask("INBOX/2")
    assert isinstance(found, Answer)
    assert found.content_type == "message/rfc822"
    assert b"Subject: Letter 2" in found.body and b"This is letter 2." in found.body


def test_a_long_list_goes_on(known: str) -> None:
    first = names(ask("many/"))
    assert (len(first), first[-1]) == (LISTED + 1, f"?after={LISTED}")
    assert names(ask("many/", after=str(LISTED))) == [f"./{number}" for number in range(LISTED + 1, LISTED + 6)]


def test_what_is_not_there_is_missing_and_what_is_too_large_is_not_read(known: str) -> None:
    assert ask("INBOX/99") == MISSING
    assert ask("Nowhere/") == MISSING
    for strange in ("INBOX/x", 'INBOX%22%0D%0ADELETE%20"Sent/', "INBOX/1%0D%0A", "B\u00fccher/"):
        assert ask(strange) == MISSING
    assert ask("%22%20DELETE%20%22Sent/") == MISSING
    assert "./Sent/" in names(ask(""))
    assert ask("INBOX/1", max_bytes=100) is FailureKind.TOO_LARGE


def test_nothing_is_changed(known: str, dovecot: tuple[int, int, Path]) -> None:
    before = sorted(path.name for path in (dovecot[2] / "mail" / "cur").iterdir())
    ask("INBOX/1")
    assert sorted(path.name for path in (dovecot[2] / "mail" / "cur").iterdir()) == before


def test_behind_tls_the_certificate_counts(dovecot: tuple[int, int, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCS_MAIL_WORK", f"imaps://ann:se%40cret@localhost:{dovecot[1]}/")
    assert "./INBOX/" in names(ask("", ca_file=str(dovecot[2] / "cert.pem")))
    assert ask("") is FailureKind.TLS


def test_who_may_not_log_in_or_reaches_nobody_is_told(
    dovecot: tuple[int, int, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask("") is FailureKind.FORBIDDEN_ADDRESS
    monkeypatch.setenv("GCS_MAIL_WORK", f"imap://ann:wrong@127.0.0.1:{dovecot[0]}/")
    assert ask("") is FailureKind.PROTOCOL
    monkeypatch.setenv("GCS_MAIL_WORK", f"imap://ann:wrong@127.0.0.1:{port()}/")
    assert ask("") is FailureKind.CONNECT


@contextmanager
def liar(answer: bytes) -> Iterator[int]:
    """A server that answers every command with this, for ever."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"* OK hello\r\n")
            try:
                while line := self.rfile.readline():
                    tag = line.split()[0]
                    if b"FETCH" in line:
                        self.wfile.write(answer)
                        for _ in range(1_000):
                            self.wfile.write(b"x" * 100_000)
                    self.wfile.write(b"* CAPABILITY IMAP4rev1\r\n" + tag + b" OK done\r\n")
            except OSError:
                pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()


@pytest.mark.parametrize("answer", [b"* 1 FETCH (UID 1 BODY[] {99999999}\r\n", b"* 1 EXISTS\r\n" * 300_000])
def test_server_that_sends_too_much_is_left(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with liar(answer) as there:
        monkeypatch.setenv("GCS_MAIL_WORK", f"imap://ann:x@127.0.0.1:{there}/")
        assert ask("INBOX/1", max_bytes=10_000) in (FailureKind.TOO_LARGE, FailureKind.PROTOCOL)


@pytest.mark.parametrize(
    ("uid_next", "found", "expected"),
    [
        (b"9" * 4_000, b"1 2", ["./1", "./2"]),
        (b"9" * 9_000, b"1 2", FailureKind.PROTOCOL),
        (b"5", b"1 two", FailureKind.PROTOCOL),
    ],
)
def test_numbers_of_a_liar_are_bounded(
    uid_next: bytes, found: bytes, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that says that billions of messages are coming, or answers with what is no number."""
    asked = 0

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            nonlocal asked
            self.wfile.write(b"* OK ready\r\n")
            while line := self.rfile.readline():
                tag = line.split()[0]
                if b"EXAMINE" in line:
                    self.wfile.write(b"* OK [UIDNEXT " + uid_next + b"] next\r\n")
                if b"SEARCH" in line:
                    asked += 1
                    self.wfile.write(b"* SEARCH" + (b" " + found if asked == 1 else b"") + b"\r\n")
                self.wfile.write(b"* CAPABILITY IMAP4rev1\r\n" + tag + b" OK done\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("GCS_MAIL_WORK", f"imap://ann:x@127.0.0.1:{server.server_address[1]}/")
        answer = ask("INBOX/")
        server.shutdown()
    assert (names(answer) if isinstance(answer, Answer) else answer) == expected
    assert asked < 30
