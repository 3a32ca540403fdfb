"""The names of the Redis keys.

A place and a type are three keys with one hash tag, so that one script can change them together:

    {gcs:CRAWL:INBOX}:TYPE          stream   the tuples; field p = payload, and
                                             inbox: s = sender ("" if not numbered), n = number,
                                             u = 1 if it can expire; board: k = key
    {gcs:CRAWL:INBOX}:TYPE:book     hash     inbox: bytes = payload bytes in the stream,
                                             s:SENDER = last number put, c:SENDER = all up to this one are committed,
                                             x:SENDER:N = N is committed ahead of c;  board: k:KEY = id in the stream
    {gcs:CRAWL:INBOX}:TYPE:until    zset     id → server time in ms at which the tuple expires
    {gcs:CRAWL:INBOX}:dead          stream   dead letters: t type, p payload, s, n, r reason, d deliveries, w last taker

The board of a crawl has the tag {gcs:CRAWL}, and there is one key more:

    {gcs:CRAWL}:tickets             hash     NAME → the last number given

Invariant: an inbox's stream that exists has the consumer group GROUP: whatever creates the one creates the other.
"""

import re
from typing import NamedTuple

from gcs.core.messages.tuples import Tuple
from gcs.errors import UsageError

GROUP = b"gcs"

_NAME = re.compile(r"[A-Za-z0-9._/@+-]{1,128}")


class InboxKeys(NamedTuple):
    """The keys of one type in one place, in the order in which every script takes them."""

    stream: str
    book: str
    until: str


class Keys:
    """The keys of one crawl."""

    def __init__(self, crawl: str) -> None:
        self._crawl = checked(crawl, "crawl")
        self._tags: dict[str, str] = {}
        self.tickets = f"{self.tag('')}:tickets"

    def tag(self, place: str) -> str:
        tag = self._tags.get(place)
        if tag is None:
            inner = f"{self._crawl}:{checked(place, 'inbox')}" if place else self._crawl
            tag = self._tags[place] = "{gcs:" + inner + "}"
        return tag

    def inbox(self, place: str, kind: type[Tuple]) -> InboxKeys:
        stream = f"{self.tag(place)}:{kind.name}"
        return InboxKeys(stream, stream + ":book", stream + ":until")

    def dead(self, place: str) -> str:
        return f"{self.tag(place)}:dead"

    @property
    def pattern(self) -> str:
        """A pattern for SCAN that all keys of the crawl match (and those of crawls whose name begins alike)."""
        return "{gcs:" + self._crawl + "*"

    def parse(self, key: str) -> tuple[str, str] | None:
        """The place and the rest of a key of this crawl, or None."""
        crawl, place, rest = split_key(key)
        return (place, rest) if crawl == self._crawl else None


def split_key(key: str) -> tuple[str, str, str]:
    """The crawl, the place and the rest of a key; the crawl is "" if the key is not one of GCS."""
    tag, brace, rest = key.partition("}:")
    crawl, _, place = tag.removeprefix("{gcs:").partition(":")
    return (crawl, place, rest) if brace and tag.startswith("{gcs:") else ("", "", "")


def checked(name: str, what: str) -> str:
    """A name that can stand in a key."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{what} name {name!r} is not usable: take 1 to 128 of A-Z a-z 0-9 . _ / @ + -")
    return name
