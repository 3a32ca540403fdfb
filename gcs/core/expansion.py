"""The user's initial expansion: nodes of the URL tree, one per line, that shall be superpages from the start.

    # remarks and empty lines are skipped
    https://www.example.com/docs/          the pages under a URL
    com example                            the tokens of a node: a domain with all its hosts
    com example www /https docs            the same node as in the first line
    < com m                                no node, but a cut before it: the end of one interval, the start of the next

Every line but the last kind is a singleton expansion (of all nodes above it, too).
"""

from collections.abc import Iterable

from gcs.core.sortkey import FIRST_KEY, LAST_KEY, SEPARATOR, sort_key, subtree
from gcs.core.tree import Cuts
from gcs.core.urls import canonical
from gcs.errors import UsageError


def parse(lines: Iterable[str]) -> Cuts:
    """The cuts of the expansion that the lines ask for."""
    cuts = {FIRST_KEY}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        only_before = text.startswith("<")
        low, high = subtree(_node(text.removeprefix("<").strip(), number))
        cuts.add(low)
        if not only_before and high < LAST_KEY:
            cuts.add(high)
    return tuple(sorted(cuts))


def _node(text: str, line: int) -> bytes:
    if "://" in text:
        url = canonical(text)
        if url is None or "?" in url:
            raise UsageError(f"expansion, line {line}: {text!r} is no http(s) URL without a query")
        return sort_key(url).rstrip(SEPARATOR)
    words = text.split()
    if not words or any(not "!" <= char <= "~" for word in words for char in word):
        raise UsageError(f"expansion, line {line}: {text!r} is neither a URL nor tokens between blanks")
    return SEPARATOR.join(word.encode() for word in words)
