"""E-mail: a digest of the matches that wait, by SMTP. TLS where the server offers it, or from the start (smtps://).

Invariant: what a page says can add no header and no receiver: only our own words and the user's addresses go there.
"""

import asyncio
import contextlib
import smtplib
import ssl
import time
from collections.abc import Sequence
from email.message import EmailMessage
from typing import Any
from urllib.parse import unquote, urlsplit

from gcs.core.watch.profile import Match
from gcs.core.watch.push_target import PushTarget
from gcs.ports.push import PUSH_S, PushError

_SUBMISSION, _SMTPS = 25, 465
#: bytes that a server may say in one conversation, and seconds that it may take
_MOST_BYTES, _TALK_S = 1 << 18, 2 * PUSH_S


class MailReceiver:
    """Sends the matches of some time as one e-mail."""

    most = 100

    async def push(self, target: PushTarget, _secret: str, matches: Sequence[Match]) -> None:
        try:
            await asyncio.wait_for(asyncio.to_thread(_send, target, digest(target, matches)), 3 * PUSH_S)
        except TimeoutError as error:
            raise PushError("no answer in time") from error
        except smtplib.SMTPResponseException as error:
            raise PushError(f"SMTP {error.smtp_code}") from None
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise PushError(type(error).__name__) from None

    async def close(self) -> None:
        """Nothing is kept open."""


def digest(target: PushTarget, matches: Sequence[Match]) -> EmailMessage:
    """The message; its id is that of its last match, so that a digest that comes again is known."""
    first, last = matches[0], matches[-1]
    message = EmailMessage()
    message["Subject"] = f"{first.profile}: {len(matches)} page{'s' if len(matches) > 1 else ''}"
    message["From"] = target.option("from") or "gcs@localhost"
    message["To"] = target.option("to")
    message["Message-ID"] = f"<{first.id}.{last.id}@gcs.invalid>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n\n".join(map(_paragraph, matches)) + "\n")
    return message


def _paragraph(match: Match) -> str:
    title = " ".join(match.title.split()) or "(no title)"
    lines = [f"{match.event}: {title}", f"  {match.url}", f"  {match.excerpt}"]
    if match.diff:
        lines += [f"    {line}" for line in match.diff.splitlines()]
    return "\n".join(lines)


class _Answers:
    """What a server says, up to a limit: smtplib by itself reads an answer of any length."""

    def __init__(self, file: Any, give_up_at: float) -> None:
        self._file, self._give_up_at, self._rest = file, give_up_at, _MOST_BYTES

    def readline(self, most: int) -> bytes:
        line: bytes = self._file.readline(most)
        self._rest -= len(line)
        if self._rest < 0 or time.monotonic() > self._give_up_at:
            raise smtplib.SMTPServerDisconnected("it says too much")
        return line

    def close(self) -> None:
        self._file.close()


class _Server(smtplib.SMTP):
    """A server whose answers are bounded."""

    _give_up_at = 0.0

    def getreply(self) -> tuple[int, bytes]:
        self._give_up_at = self._give_up_at or time.monotonic() + _TALK_S
        if self.file is None and self.sock is not None:
            self.file = _Answers(self.sock.makefile("rb"), self._give_up_at)
        return super().getreply()


class _TlsServer(_Server, smtplib.SMTP_SSL):
    """The same, with TLS from the start."""


def _send(target: PushTarget, message: EmailMessage) -> None:
    parts = urlsplit(target.address)
    is_tls = parts.scheme == "smtps"
    port = parts.port or (_SMTPS if is_tls else _SUBMISSION)
    host = parts.hostname or ""
    context = ssl.create_default_context()
    client = _TlsServer(host, port, timeout=PUSH_S, context=context) if is_tls else _Server(host, port, timeout=PUSH_S)
    with contextlib.closing(client), client:
        if not is_tls and client.has_extn("starttls"):
            client.starttls(context=context)
        if parts.username:
            if not is_tls and "starttls" not in client.esmtp_features and host not in ("localhost", "127.0.0.1", "::1"):
                raise ValueError("a password is not sent without TLS")
            client.login(unquote(parts.username), unquote(parts.password or ""))
        client.send_message(message)
