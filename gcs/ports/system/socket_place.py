"""Where a unix socket of a crawl directory lies: in the directory, or where its path is too long, in a private folder.

The path of a unix socket has a fixed room in the kernel; the other folder is always the same for a directory.
"""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from gcs.errors import SpaceError

#: the path of a unix socket fits into 107 bytes, and less elsewhere
MAX_SOCKET_PATH_BYTES = 100


def place_of(folder: Path, name: str) -> Path:
    """The path of a socket of that name; nothing is made."""
    folder = folder.resolve()
    if len(os.fsencode(folder / name)) <= MAX_SOCKET_PATH_BYTES:
        return folder / name
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"gcs-{os.getuid()}-{digest}" / name


def private_place(folder: Path, name: str) -> Path:
    """A place for a socket, in a folder where only this user may put one."""
    place = place_of(folder, name)
    if place.parent != folder.resolve():
        place.parent.mkdir(mode=0o700, exist_ok=True)
        status = place.parent.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise SpaceError(f"{place.parent} is not a private directory of ours: remove it")
    return place
