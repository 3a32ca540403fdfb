"""A mailbox on a server (IMAP, RFC 3501): folders are lists, messages are pages (message/rfc822).

    mail://work/   mail://work/INBOX/   mail://work/INBOX/?after=1000   mail://work/INBOX/17

What `work` means stands in the environment of the machine that reads it (GCS_MAIL_WORK=imaps://user:password@host/), so
that a password is in no plan, record or log. A message is known by its UID.

Invariant: read only (EXAMINE, BODY.PEEK); no name leaves the quotes of its command; an answer has a bound, whatever
the server sends; one connection a question.
"""

import imaplib
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from gcs.core.page.values import FailureKind
from gcs.ports.fetch.sources import LISTED, MAIL_VARIABLE, MISSING, Answer, address_of, listing

_ESCAPED = re.compile(rb"\\(.)")
#: a line of the answer to LIST: flags, delimiter, and the name of the folder
_FOLDER = re.compile(rb'\(([^)]*)\) (?:"[^"]*"|NIL) (?:"((?:[^"\\]|\\.)*)"|([^ "]+))$')
#: bytes of an answer that are no message
_SPARE_BYTES = 1 << 20
#: UIDs that are asked for at first; doubled as long as they are too few, since numbers may have large gaps
_WIDTH = 1_000
#: UIDs have 32 bits (RFC 3501), whatever a server says of the next one
_MOST_UIDS = 1 << 32


def read_mail_server(
    name: str, inside: str, after: str, max_bytes: int, *, timeout_s: float, ca_file: str | None
) -> Answer | FailureKind:
    """What lies at the path `inside` the mailbox of this name: "", "folder/" or "folder/uid"."""
    address = address_of(name, MAIL_VARIABLE)
    if not address:
        return FailureKind.FORBIDDEN_ADDRESS
    folder, uid = (*map(unquote, inside.split("/")), "")[:2]
    is_number = uid.isascii() and uid.isdecimal() and len(uid) < 20
    if not (folder.isascii() and folder.isprintable() and (is_number or not uid)):
        return MISSING
    try:
        with _server(address, max_bytes, timeout_s, ca_file) as server:
            if not folder:
                return listing(f"{each}/" for each in sorted(_folders(server)) if f"{each}/" > after)
            quoted = '"' + folder.replace("\\", "\\\\").replace('"', '\\"') + '"'
            if server.select(quoted, readonly=True)[0] != "OK":
                return MISSING
            return (
                _message(server, uid, max_bytes)
                if uid
                else listing(_uids(server, int(after) + 1 if after.isdecimal() else 1))
            )
    except _TooLargeError:
        return FailureKind.TOO_LARGE
    except TimeoutError:
        return FailureKind.TIMEOUT
    except ssl.SSLError:
        return FailureKind.TLS
    except (imaplib.IMAP4.error, ValueError):  # what should be a number is none
        return FailureKind.PROTOCOL
    except OSError:
        return FailureKind.CONNECT


class _TooLargeError(Exception):
    """The server sends more than may be."""


class _Bounded:
    """What both kinds of connection have: a bound on what one question brings."""

    room = 1 << 62

    def read(self, size: int) -> bytes:
        self.take(size)
        return super().read(size)  # type: ignore[misc, no-any-return]

    def readline(self) -> bytes:
        line: bytes = super().readline()  # type: ignore[misc]
        self.take(len(line))
        return line

    def take(self, size: int) -> None:
        self.room -= size
        if self.room < 0:
            raise _TooLargeError


class _Plain(_Bounded, imaplib.IMAP4):
    pass


class _Secure(_Bounded, imaplib.IMAP4_SSL):
    pass


@contextmanager
def _server(address: str, max_bytes: int, timeout_s: float, ca_file: str | None) -> Iterator[imaplib.IMAP4]:
    """A connection that has logged in."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    server: _Plain | _Secure
    if parts.scheme == "imaps":
        context = ssl.create_default_context(cafile=ca_file)
        server = _Secure(host, parts.port or 993, ssl_context=context, timeout=timeout_s)
    else:
        server = _Plain(host, parts.port or 143, timeout=timeout_s)
    server.room = max_bytes + _SPARE_BYTES
    try:
        server.login(unquote(parts.username or ""), unquote(parts.password or ""))
        yield server
    finally:
        server.shutdown()


def _folders(server: imaplib.IMAP4) -> Iterator[str]:
    """The folders that can be opened, by their names as the server spells them (modified UTF-7)."""
    for line in server.list()[1]:
        if not isinstance(line, bytes):
            continue  # a name that is no line: nobody has such
        found = _FOLDER.match(line)
        if found and b"\\noselect" not in found[1].lower():
            name = _ESCAPED.sub(rb"\1", found[2]) if found[2] is not None else found[3]
            yield name.decode("ascii", "replace")


def _uids(server: imaplib.IMAP4, first: int) -> Iterator[str]:
    """The UIDs from this one on, in order, as many as a list has."""
    end = min(int((server.response("UIDNEXT")[1] or [b"1"])[0] or 1), _MOST_UIDS)
    count, width = 0, _WIDTH
    while first < end and count <= LISTED:
        _, found = server.uid("SEARCH", f"UID {first}:{first + width - 1}")
        numbers = sorted(int(number) for number in b" ".join(line for line in found if line).split())
        for number in numbers:
            yield str(number)
        count, first, width = count + len(numbers), first + width, 2 * width


def _message(server: imaplib.IMAP4, uid: str, max_bytes: int) -> Answer | FailureKind:
    _, found = server.uid("FETCH", uid, f"(BODY.PEEK[]<0.{max_bytes + 1}>)")
    body = next((part[1] for part in found if isinstance(part, tuple)), None)
    if body is None:
        return MISSING
    return FailureKind.TOO_LARGE if len(body) > max_bytes else Answer(content_type="message/rfc822", body=body)
