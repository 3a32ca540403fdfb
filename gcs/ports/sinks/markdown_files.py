"""Pages as Markdown files: front matter in YAML, then the main content. For the sink and for `gcs export --format md`.

A value of the front matter is written as JSON, which is YAML too: whatever a page says, it cannot end the front matter
or begin another field.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import xxhash

from gcs.ports.records.page import Page
from gcs.ports.system.own_file import own_stream

#: what may stand in the name of a file, whatever the file system
_PLAIN = re.compile(r"[^A-Za-z0-9._~%+=@-]")
_MOST_LETTERS, _MOST_FOLDERS = 100, 12
#: what JSON leaves as it is in a string, and YAML refuses there, or takes for the end of a line
_NO_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufffe\uffff]")


class MarkdownFiles:
    """A folder with a Markdown file per page, under its host and path: always as the page was found last.

    A page that is gone loses its file; one that cannot be read as text gets none.
    """

    def __init__(self, target: str, is_durable: bool = True) -> None:
        """`is_durable`: a file is on the disk when its page has been written, as a sink promises."""
        self._root = Path(target)
        self._root.mkdir(parents=True, exist_ok=True)
        self._is_durable = is_durable

    def write(self, pages: Sequence[Page]) -> None:
        for page in pages:
            self.put(page)

    def put(self, page: Page) -> bool:
        """Write or remove the file of a page; whether it has one now."""
        if page.change == "gone":
            self._path(page.url).unlink(missing_ok=True)
        elif data := markdown_file(page):
            self._store(self._path(page.url), data)
            return True
        return False

    def _path(self, url: str) -> Path:
        parts = urlsplit(url)
        names = [parts.netloc.replace(":", "_"), *parts.path.split("/")[1:]]
        names[-1] = names[-1] or "index"
        plain = [_PLAIN.sub("_", name).lstrip(".")[:_MOST_LETTERS] or "_" for name in names]
        plain[:-1] = [f"{name}_" if name.endswith(".md") else name for name in plain[:-1]]  # may be a file beside it
        if parts.query or plain != names or len(names) > _MOST_FOLDERS:  # no longer one name for one URL
            plain[-1] += f"-{xxhash.xxh3_64_hexdigest(url.encode('utf-8', 'surrogatepass'))}"
        return self._root.joinpath(*plain[:-1][:_MOST_FOLDERS], f"{plain[-1]}.md")

    def _store(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        with own_stream(temporary, "wb") as file:
            file.write(data)
            if self._is_durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)


def markdown_file(page: Page) -> bytes:
    """The page with its front matter; b"" if there is nothing to read, or if the page is stored as it was before."""
    if not page.is_page or page.record.held_at_us or not (text := page.markdown):
        return b""
    facts = {
        "url": page.url,
        "title": page.title,
        **page.metadata,
        "language": page.language,
        "fetched_at": page.fetched_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "text_cut": page.record.text_cut or "",
        "id": page.id,
    } | page.fields
    lines = (f"{name}: {_as_yaml(value)}\n" for name, value in facts.items() if value != "")
    return f"---\n{''.join(lines)}---\n\n{text.strip()}\n".encode("utf-8", "replace")


def _as_yaml(value: object) -> str:
    return _NO_YAML.sub(lambda odd: f"\\u{ord(odd[0]):04x}", msgspec.json.encode(value).decode())
