"""Sources that are no web servers (papers.md T2), read as if they were: a folder or table is a list of links, what lies
in it are pages.

    source_engine   sends a request to the web's engine or to a source
    files           folders            database   SQLite            news      NNTP
    database_server all that SQLAlchemy reaches                     mailbox   mbox, Maildir
    imap            mailboxes on servers

Here is what a source answers: a page, or a list of links; with a status of HTTP's, since all that follows speaks it.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice
from urllib.parse import quote

#: RFC 2483; the summariser of it takes relative ones too
LISTING_TYPE = "text/uri-list"
#: how the name of the variable begins that holds the SQLAlchemy URL of a database on a server
VARIABLE = "GCS_DB_"
#: … and the address of a mailbox on a server
MAIL_VARIABLE = "GCS_MAIL_"
#: links in one list; the next one is linked behind them
LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a source."""

    status: int = HTTPStatus.OK
    content_type: str = ""
    body: bytes = b""
    #: names this version of the page, so that an unchanged page is not read again
    etag: str = ""
    #: where the page is instead: a redirect
    location: str = ""

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers that a record keeps."""
        fields = (("Content-Type", self.content_type), ("ETag", self.etag), ("Location", self.location))
        return tuple((name, value) for name, value in fields if value)


#: there is no such thing
MISSING = Answer(HTTPStatus.NOT_FOUND)
#: it is there, and not for a crawler
DENIED = Answer(HTTPStatus.FORBIDDEN)


def address_of(name: str, variable: str = VARIABLE) -> str:
    """The address of the database, or mailbox, of this name; "" where this machine knows none."""
    return os.environ.get(variable + name.upper().replace("-", "_"), "")


def listing(names: Iterable[str]) -> Answer:
    """A list of names in this place, in order, as far as one list goes; `?after=` the last one goes on.

    A name ends with a slash where it is a list itself.
    """
    shown = list(islice(names, LISTED + 1))
    hrefs = [f"./{quote(name.removesuffix('/'), safe='')}{'/' * name.endswith('/')}" for name in shown[:LISTED]]
    if len(shown) > LISTED:
        hrefs.append(f"?after={quote(shown[LISTED - 1], safe='')}")
    return Answer(content_type=LISTING_TYPE, body="\n".join(hrefs).encode())
