"""Mailboxes of this machine: an mbox file or a Maildir is a list of messages, a message is a page (message/rfc822).

    mail://localhost/home/ann/inbox.mbox/   …/inbox.mbox/10240   the message that begins at this byte
    mail://localhost/home/ann/Maildir/      …/Maildir/cur%2F17.host:2,S   a message by its file

Invariant: a message is read without a look at those before it, so that a large mailbox takes linear time; what is read
lies below the root that the user named.
"""

import heapq
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from gcs.core.page.values import FailureKind
from gcs.ports.fetch.sources import DENIED, LISTED, MISSING, Answer, listing

#: a message of an mbox begins like this, at the beginning of the file or behind an empty line
_FROM = re.compile(rb"(?:\A|\n\r?\n)(From [^\n]*\n)")
#: … and where a line of a message does, it has one of these more
_QUOTED = re.compile(rb"^>(>*+From )", re.M)
_CHUNK_BYTES = 1 << 20
_FOLDERS = ("cur", "new")
_TYPE = "message/rfc822"


def read_mailbox(inside: str, after: str, box: Path, max_bytes: int) -> Answer | FailureKind:
    """The list of messages (`inside` is empty), or one message."""
    key = unquote(inside)
    try:
        if box.is_dir():
            return _maildir_message(box, key, max_bytes) if key else listing(_maildir_names(box, after))
        if not key:
            return listing(str(at) for at in _starts(box, int(after) + 1 if after.isdigit() else 0))
        if not key.isdigit() or len(key) > 18:
            return MISSING
        return _mbox_message(box, int(key), max_bytes)
    except PermissionError:
        return DENIED
    except (OSError, ValueError):
        return MISSING


def _starts(box: Path, at: int) -> Iterator[int]:
    """Where messages begin, from this byte on."""
    with box.open("rb") as file:
        begin = max(at - 3, 0)
        file.seek(begin)
        data = file.read(_CHUNK_BYTES)
        while data:
            for match in _FROM.finditer(data):
                start = begin + match.start(1)
                if start >= at and (begin == 0 or match.start(1) > 0):
                    yield start
                    at = start + 1
            more = file.read(_CHUNK_BYTES)
            kept = data[-1024:] if more else b""
            begin += len(data) - len(kept)
            data = kept + more if more else b""


def _mbox_message(box: Path, at: int, max_bytes: int) -> Answer | FailureKind:
    with box.open("rb") as file:
        file.seek(at)
        data = file.read(max_bytes + 1)
    line, _, message = data.partition(b"\n")
    if not line.startswith(b"From "):
        return MISSING
    end = _FROM.search(message, 1)
    if end is None and len(data) > max_bytes:
        return FailureKind.TOO_LARGE
    message = message[: end.start()] if end else message
    return Answer(content_type=_TYPE, body=_QUOTED.sub(rb"\1", message))


def _maildir_names(box: Path, after: str) -> list[str]:
    names = (f"{folder}/{file.name}" for folder in _FOLDERS for file in (box / folder).iterdir())
    shown = (name for name in names if name > after and name.isprintable() and "/." not in name)
    return heapq.nsmallest(LISTED + 1, shown)


def _maildir_message(box: Path, key: str, max_bytes: int) -> Answer | FailureKind:
    folder, _, name = key.partition("/")
    file = box / folder / name
    if folder not in _FOLDERS or "/" in name or name in ("", ".", "..") or not file.is_file():
        return MISSING
    if not file.resolve().is_relative_to(box.resolve()):
        return DENIED
    with file.open("rb") as content:
        data = content.read(max_bytes + 1)
    return FailureKind.TOO_LARGE if len(data) > max_bytes else Answer(content_type=_TYPE, body=data)
