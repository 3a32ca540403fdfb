"""Lists of links: two columns of page numbers, or of URLs, as text or as a gzip file of it.

Comments (lines that begin with # or %) and empty lines may stand anywhere, and a header on top. Columns are separated
by blanks, tabs or commas. pyarrow reads regular files in some nanoseconds a line; others are tidied first.

Invariant: no other line is skipped. A line that is not a pair raises an error that names the line.
"""

import re
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
from isal import igzip
from pyarrow import csv

from gcs.errors import UsageError
from gcs.sim.graph.web_graph import Ids

_GZIP = b"\x1f\x8b"
_HEAD = re.compile(rb"(?:[ \t]*+(?:[#%][^\n]*+)?\r?\n)*+(?:[A-Za-z_][^\n:]*+\n)?(?:[ \t]*+(?:[#%][^\n]*+)?\r?\n)*+")
_REMARK = re.compile(rb"\s*(?:[#%].*)?")
_NUMBERS = re.compile(rb"\s*\d{1,18}[\s,;]+\d{1,18}\s*")
_NAMES = re.compile(rb"\s*\S+\s+\S+\s*")


def unpacked(path: Path, data: bytes) -> bytes:
    """The text of a file that may be compressed."""
    if not data.startswith(_GZIP) and path.suffix != ".gz":
        return data
    try:
        text: bytes = igzip.decompress(data)  # type: ignore[no-untyped-call]
        return text
    except (OSError, EOFError, zlib.error, igzip.BadGzipFile) as error:
        raise UsageError(f"{path}: not a readable gzip file ({error})") from None


def links(path: Path, text: bytes) -> tuple[Ids, Ids, list[str]]:
    """Where each link comes from and leads to; and the URLs of the pages, where the list names them by URL."""
    start = _start(text)
    if b"://" not in text[start : _end(text, start)]:
        return *numbers(path, text), []
    table = _table(path, text, start, is_named=True)
    columns = pa.chunked_array([*table["a"].chunks, *table["b"].chunks]).combine_chunks().dictionary_encode()
    ids = columns.indices.to_numpy().astype(np.int64)
    return ids[: len(table)], ids[len(table) :], columns.dictionary.to_pylist()


def numbers(path: Path, text: bytes) -> tuple[Ids, Ids]:
    """Two columns of whole numbers."""
    start = _start(text)
    if start == len(text):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    table = _table(path, text, start, is_named=False)
    return table["a"].to_numpy(), table["b"].to_numpy()


def _start(text: bytes) -> int:
    """Where the first pair begins."""
    head = _HEAD.match(text)
    assert head is not None
    return head.end()


def _end(text: bytes, start: int) -> int:
    end = text.find(b"\n", start)
    return end if end >= 0 else len(text)


def _table(path: Path, text: bytes, start: int, is_named: bool) -> pa.Table:
    """The columns a and b: read by pyarrow as they are, or else tidied line by line."""
    first = text[start : _end(text, start)]
    apart = next((each for each in ("\t", ",") if each.encode() in first and not (is_named and each == ",")), " ")
    try:
        table = _read(memoryview(text)[start:], apart, is_named)
        if is_named or min(column.to_numpy().min(initial=0) for column in table.columns) >= 0:
            return table
    except pa.ArrowInvalid:
        pass
    return _read(memoryview(_tidy(path, text, start, is_named)), " ", is_named)


def _read(text: memoryview, apart: str, is_named: bool) -> pa.Table:
    kind = pa.string() if is_named else pa.int64()
    return csv.read_csv(
        pa.py_buffer(text),
        csv.ReadOptions(column_names=["a", "b"], block_size=1 << 24),
        csv.ParseOptions(delimiter=apart, quote_char=False),
        csv.ConvertOptions(column_types={"a": kind, "b": kind}, null_values=[]),
    )


def _tidy(path: Path, text: bytes, start: int, is_named: bool) -> bytes:
    """The text with one blank between the columns, and without comments."""
    pair, what = (_NAMES, "two URLs") if is_named else (_NUMBERS, "two whole numbers")
    tidied = []
    for number, line in enumerate(text[start:].split(b"\n"), 1 + text.count(b"\n", 0, start)):
        if pair.fullmatch(line):
            tidied.append(b" ".join(line.split() if is_named else line.replace(b",", b" ").replace(b";", b" ").split()))
        elif not _REMARK.fullmatch(line):
            shown = line[:60].decode(errors="replace").strip()
            raise UsageError(f"{path}, line {number}: {shown!r} is not {what}, where a link is from and where it leads")
    return b"\n".join(tidied)
