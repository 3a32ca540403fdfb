"""Tables as text (CSV, tab-separated values): a line for each row; the names of the columns are the title."""

import csv
from collections.abc import Iterator
from itertools import islice

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.encoding import as_text
from gcs.ports.summarise.formats import document_of

#: rows that are read
_MAX_ROWS = 100_000


def summarise_csv(source: Source) -> Document:
    text = as_text(source.content[: 2 * source.options.max_text_bytes], source.content_type)
    rows = _rows(text)
    names = [name for each in next(rows, []) if (name := each.strip())]
    lines = ("\t".join(cell.strip() for cell in row) for row in rows)
    return document_of(source, ("\t".join(names), *lines), title=", ".join(names))


def _rows(text: str) -> Iterator[list[str]]:
    first = text[:10_000].partition("\n")[0]
    separator = max(",;\t|", key=first.count)
    try:
        yield from islice(csv.reader(text.splitlines(), delimiter=separator), _MAX_ROWS)
    except csv.Error:  # a cell of more than 128 KB, as of a quote that is never closed
        return
