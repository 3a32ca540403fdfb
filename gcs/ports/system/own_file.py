"""Open a file of the crawl directory for writing, and never through a symbolic link.

Somebody else may have made the directory, or may write there: a link in the place of one of our files would let GCS
overwrite any file of its user. Folders may be links (a user puts `warc` on another disk); files may not.
"""

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

#: what is said of a link, as the reason of the OSError
LINK = "it is a symbolic link: remove the link"


def open_own(path: Path, flags: int, mode: int = 0o644) -> int:
    """As `os.open`; OSError if a link is in the place of the file."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, LINK, str(path)) from None
        raise


def own_stream(path: Path, mode: str, **options: Any) -> IO[Any]:
    """As `open`; OSError if a link is in the place of the file."""
    return open(path, mode, opener=lambda _, flags: open_own(path, flags, 0o666), **options)


def refuse_links(paths: Iterable[Path]) -> None:
    """OSError if one of these files is a link: for files that a library opens."""
    for path in paths:
        if path.is_symlink():
            raise OSError(errno.ELOOP, LINK, str(path))
