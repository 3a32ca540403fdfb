"""Pages as Markdown for `gcs export --format md`: front matter in YAML, then the main text.

A value of the front matter is written as JSON, which is YAML too: whatever a page says, it cannot end the front matter
or begin another field.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import xxhash

from gcs.errors import StoreError
from gcs.ports.system.own_file import own_stream

#: the columns that are read; those of the front matter, in its order, come first
COLUMNS = (
    *("url", "title", "author", "published", "modified", "site_name", "page_type", "language", "keywords"),
    *("description", "fetched_at", "text_cut", "markdown"),
)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
#: characters of the name of a file that come from the URL
_NAME_LENGTH = 80


def markdown_pages(rows: Iterable[Sequence[Any]]) -> Iterator[tuple[str, bytes]]:
    """The URL and the file of each page that has Markdown; the rows hold `COLUMNS`, with times as they are shown."""
    for row in rows:
        page = dict(zip(COLUMNS, row))
        markdown = page.pop("markdown")
        if markdown:
            said = "".join(f"{name}: {msgspec.json.encode(value).decode()}\n" for name, value in page.items() if value)
            yield page["url"], f"---\n{said}---\n\n{markdown}\n\n".encode("utf-8", "replace")


def write_files(pages: Iterable[tuple[str, bytes]], folder: Path) -> int:
    """One file a page, in a folder per host; the number of files. A page that is met again replaces its file."""
    written = set()
    for url, content in pages:
        path = folder / file_name(url)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with own_stream(path, "wb") as file:
                file.write(content)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror or error}") from error
        written.add(path)
    return len(written)


def file_name(url: str) -> str:
    """HOST/PATH-HASH.md: readable, one per URL, and safe on every file system."""
    parts = urlsplit(url)
    host = _UNSAFE.sub("-", parts.netloc).strip(".-") or "page"
    name = _UNSAFE.sub("-", f"{parts.path} {parts.query}").strip(".-")[:_NAME_LENGTH] or "index"
    return f"{host[:_NAME_LENGTH]}/{name}-{xxhash.xxh3_64_hexdigest(url.encode())[:8]}.md"
