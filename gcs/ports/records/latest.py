"""What is there now: of all sessions of a crawl, the one record that tells what each page holds.

A 304, or a server that could not answer, says only that an older record still holds; a page that is gone has none.

Two passes over the records. Memory: about 100 bytes a page, however much text there is and however many sessions.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import xxhash

from gcs.core.page import tells
from gcs.core.politeness import RETRY_STATUSES
from gcs.ports.records.reading import Row, rows

_digest = xxhash.xxh3_64_intdigest
_FIELDS = ("url", "session", "source", "status", "failure", "held_at_us")


def latest(place: str | Path, fields: Sequence[str]) -> Iterator[Row]:
    """The chosen fields of each page as it was found last, in the order of `rows`; of pages that are there."""
    told: dict[int, int] = {}  # URL → the session that tells of it, where that is not the first
    for url, session, _, status, failure, held_at_us in rows(place, _FIELDS):
        # whoever cannot answer tells nothing, even if it could not for so long that we have forgotten what we hold
        if session == 1 or (failure and (status == 0 or status in RETRY_STATUSES)):
            continue
        if tells(status, failure, held_at_us) and session > told.get(key := _digest(url.encode()), 1):
            told[key] = session
    seen: set[int] = set()  # several gatherers may have stored it
    for url, session, source, status, failure, _, *chosen in rows(place, (*_FIELDS, *fields)):
        key = _digest(url.encode())
        is_page = 200 <= status < 300 and not failure and not source
        if is_page and session == told.get(key, 1) and key not in seen:
            seen.add(key)
            yield tuple(chosen)
