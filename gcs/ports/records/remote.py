"""A place for finished files outside the crawl directory: s3://bucket/folder or any other fsspec URL.

`put` is repeated until the size there is the size here, and may be repeated after a crash: a file of the
same name is replaced by the same file. It must not remove anything, neither here nor there.
"""

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from gcs.errors import StoreError, UsageError
from gcs.events import Events

events = Events("records")
#: seconds between the attempts of one upload
_PAUSES_S = (0.5, 2.0, 8.0)


class Remote:
    """A folder behind an fsspec URL."""

    def __init__(self, url: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self.url = url.rstrip("/")
        self._sleep = sleep
        self._filesystem: Any = None

    def put(self, path: Path, folder: str) -> None:
        """Copy a finished local file to URL/folder/, whole, or raise StoreError."""
        target = f"{self.url}/{folder}/{path.name}"
        for pause_s in (*_PAUSES_S, None):
            try:
                self._put(path, target)
                return
            except UsageError:
                raise
            except Exception as error:  # every filesystem has its own kinds; all mean: not there yet
                if pause_s is None:
                    raise StoreError(f"cannot upload {path} to {target}: {error}") from error
                events.warning("upload-retry", file=path, target=target, error=error)
                self._sleep(pause_s)

    def names(self, folder: str) -> list[str]:
        """The names of the files in URL/folder/, sorted."""
        filesystem = self.filesystem()
        try:
            filesystem.invalidate_cache()
            found = filesystem.ls(filesystem._strip_protocol(f"{self.url}/{folder}"), detail=False)
        except FileNotFoundError:
            return []
        except Exception as error:
            raise StoreError(f"cannot list {self.url}/{folder}: {error}") from error
        return sorted(name.rstrip("/").rpartition("/")[2] for name in found)

    def open(self, folder: str, name: str) -> Any:
        """A readable, seekable file."""
        try:
            return self.filesystem().open(f"{self.url}/{folder}/{name}", "rb")
        except Exception as error:
            raise StoreError(f"cannot read {self.url}/{folder}/{name}: {error}") from error

    def filesystem(self) -> Any:
        """The fsspec filesystem of the URL."""
        if self._filesystem is None:
            fsspec: Any = import_module("fsspec")  # untyped and slow to load
            try:
                self._filesystem = fsspec.core.url_to_fs(self.url)[0]
            except (ImportError, ValueError) as error:  # no such protocol, or its package is missing
                raise UsageError(f"cannot use {self.url} as a store: {error}") from error
        return self._filesystem

    def _put(self, path: Path, target: str) -> None:
        filesystem = self.filesystem()
        filesystem.makedirs(filesystem._parent(target), exist_ok=True)
        filesystem.put_file(str(path), target)
        filesystem.invalidate_cache()
        size, expected = filesystem.size(target), path.stat().st_size
        if size != expected:
            raise OSError(f"{size} of {expected} bytes arrived")
