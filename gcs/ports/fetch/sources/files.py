"""Folders and files of this machine.

Invariant: what is read lies, with all symbolic links followed, below the root that the user named. Names that
begin with a dot are not listed; devices, pipes and sockets are not read.
"""

import heapq
import mimetypes
import os
import stat
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote

from gcs.core.page.values import FailureKind
from gcs.ports.fetch.sources import DENIED, LISTED, MISSING, Answer, listing

#: compressed files are files: a coding belongs to a transfer
_CODINGS = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


def read_file(path: str, after: str, root: Path, etag: str, max_bytes: int) -> Answer | FailureKind:
    """The file of that path (of a URL), or the names in a folder behind `after`."""
    place = Path(unquote(path))
    try:
        real = place.resolve(strict=True)
        if not real.is_relative_to(root.resolve()):
            return DENIED
        found = real.stat()
        if stat.S_ISDIR(found.st_mode):
            if not path.endswith("/"):
                return Answer(HTTPStatus.MOVED_PERMANENTLY, location=f"{path}/")
            return listing(_names(real, after))
        if not stat.S_ISREG(found.st_mode):
            return DENIED
        if found.st_size > max_bytes:
            return FailureKind.TOO_LARGE
        tag = f'"{found.st_mtime_ns:x}-{found.st_size:x}"'
        if tag == etag:
            return Answer(HTTPStatus.NOT_MODIFIED, etag=tag)
        with real.open("rb") as file:
            body = file.read(max_bytes + 1)
        return FailureKind.TOO_LARGE if len(body) > max_bytes else Answer(200, _type(real), body, tag)
    except PermissionError:
        return DENIED
    except (OSError, ValueError, RuntimeError):  # gone meanwhile, a NUL in the name, a loop of links
        return MISSING


def _names(folder: Path, after: str) -> list[str]:
    """The first names behind `after`, folders with a slash at their end. Memory is bounded, however many there are."""
    with os.scandir(folder) as entries:
        named = (entry.name + "/" * entry.is_dir() for entry in entries if not entry.name.startswith("."))
        # a name of bytes that are no UTF-8 is not printable: no URL would lead back to it
        return heapq.nsmallest(LISTED + 1, (name for name in named if name > after and name.isprintable()))


def _type(path: Path) -> str:
    kind, coding = mimetypes.guess_type(path.name)
    return _CODINGS.get(coding, "") if coding else kind or ""
