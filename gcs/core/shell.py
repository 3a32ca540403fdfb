"""Empty shells: pages that say next to nothing until their scripts have run.

Such a page has scripts, hardly a link, and hardly a word that a reader would see. Only then is it worth a browser,
which costs a hundred times a plain fetch.

Invariant: pure, and linear in the length of the page. A page that merely is short, without scripts, is no shell.
"""

import re

#: a page with more links, or more characters to read, speaks for itself
MOST_LINKS, MOST_CHARS = 2, 200
#: bytes of a page that are looked at
LOOKED_AT = 1 << 18
#: elements whose content a reader does not see
_UNSEEN = re.compile(rb"<(script|style|noscript|template|head|svg)\b|<!--", re.I)
_TAG = re.compile(rb"<[^<>]*>|&#?\w+;|\s+")


def is_shell(content: bytes, content_type: str, links: int) -> bool:
    """Whether an HTML page is an empty shell; `links` are those found in it."""
    if links > MOST_LINKS or "html" not in content_type.lower():
        return False
    page = content[:LOOKED_AT]
    return b"<script" in page.lower() and len(_seen(page)) <= MOST_CHARS


def _seen(page: bytes) -> bytes:
    """The characters that a reader sees, without spaces."""
    parts, at, lower = [], 0, page.lower()
    while match := _UNSEEN.search(page, at):
        parts.append(page[at : match.start()])
        end = b"-->" if match[1] is None else b"</" + match[1].lower()
        found = lower.find(end, match.end())
        at = len(page) if found < 0 else found + len(end)
    return _TAG.sub(b"", b"".join([*parts, page[at:]]))
