"""Sources that are no web servers: folders, databases, news (papers.md T2). They have URLs like everything else.

    file://localhost/srv/docs/a.html           a file; with a slash at its end a folder
    db://localhost/srv/shop.db/customers/17    a row of a table of an SQLite database
    db://shop/customers/17                     the same, of a database on a server that this machine knows as `shop`
    mail://localhost/home/ann/inbox.mbox/0     a message of a mailbox (mbox or Maildir)
    mail://work/INBOX/17                       the same, of a mailbox on a server that this machine knows as `work`
    nntp://news.example.org/comp.lang.c/4711   an article of a group, by its number (nntps:// behind TLS)

So the URL tree, plans, hand-over and records need not know of them. A machine's own sources have the host
`localhost`, because a host is what politeness and the tree begin with.

Invariant: only a page of a source can link to a source. On a web page such links lead nowhere: otherwise any site could
have local files read. What a source page links to is followed only below the seeds (`core.url.scope`).
"""

import re

from can_ada import parse

from gcs.core.url.canonical import normal_escapes

#: what is read on this machine; not longer than "https://", so that a URL's path begins behind its ninth letter
LOCAL = ("file://", "db://", "mail://")
NEWS = ("nntp://", "nntps://")
SCHEMES = LOCAL + NEWS
SPELLING = "write file://localhost/FOLDER/, db://localhost/FILE/, db://NAME/, mail://localhost/BOX/, mail://NAME/ or nntp://HOST/GROUP/"
DEFAULT_PORTS = {"nntp": ":119", "nntps": ":563"}
#: a name or an address, and a port
HOST = re.compile(r"(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::[0-9]+)?").fullmatch
_WEB = ("http://", "https://")


def is_source(url: str) -> bool:
    """Whether a canonical URL is not of the web."""
    return not url.startswith(_WEB)


def is_local(url: str) -> bool:
    """Whether a canonical URL is read on this machine, so that nobody is owed politeness."""
    return url.startswith(LOCAL)


def is_below(url: str, root: str) -> bool:
    """Whether a source's URL is that of `root` or lies below it."""
    return url == root or url.startswith(root if root.endswith("/") else f"{root}/")


def _is_read_here(scheme: str, host: str) -> bool:
    """Whether a host may stand in a URL of this scheme: of a local source `localhost`, or a name of a server."""
    is_named = scheme in ("db", "mail") and host.count(".") == 0 and ":" not in host
    return f"{scheme}://" not in LOCAL or host == "localhost" or is_named


def source_url(text: str, base: str = "") -> str:
    """The canonical URL of a source; with a base that of an href on its page. "" where it is none."""
    try:
        href = (parse(base) + text if base else parse(text)).href
    except (ValueError, TypeError):
        return ""
    scheme, _, rest = href.partition("://")
    host, _, tail = rest.partition("#")[0].partition("/")
    if f"{scheme}://" in LOCAL:
        host = host or "localhost"  # `file:///x` means the same, and WHATWG takes the name away
    host = host.lower().removesuffix(DEFAULT_PORTS.get(scheme, "/"))
    if f"{scheme}://" not in SCHEMES or not HOST(host) or not _is_read_here(scheme, host):
        return ""
    return f"{scheme}://{host}/{normal_escapes(tail)}"
