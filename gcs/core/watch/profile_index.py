"""Which of many profiles a page matches, without a look at each of them.

For each profile one *key* is chosen, or several of which one must be there: a word that every page which matches has, a
site, a language, the first letters of a word. Only profiles that have a key of the page are asked. (Parallel Profile
Matching, the paper's reference [3], does the same on the nodes of a network.)

Invariant: `matching` names the same profiles as `matches` of each of them, on any page. It is pure; profiles are added
and removed at any time.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from gcs.core.search.matching import matches
from gcs.core.search.query import Every, Is, Node, Phrase, Some, parse
from gcs.core.search.searchable import Searchable, sites_of

#: what a profile is found by: the kind ("word", "site", "start"…) and its value
Key = tuple[str, str]
#: letters of the beginning of a word that make a key
_START = 2
#: kinds of keys, the rarest on pages first
_WORTH = {"word": 3, "site": 2, "start": 1, "type": 0, "lang": 0, "change": 0}


class ProfileIndex:
    """Queries by name."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._keys: dict[str, tuple[Key, ...]] = {}
        #: by kind of key and value: the profiles that are asked when a page has it
        self._by_key: dict[str, dict[str, set[str]]] = {kind: {} for kind in _WORTH}
        #: those that are asked for every page
        self._always: set[str] = set()

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, name: str, query: str) -> None:
        """Add a query, or put it in the place of the one of that name."""
        self.remove(name)
        node = parse(query)
        self._nodes[name] = node
        keys = self._keys[name] = tuple(keys_of(node) or ())
        if not keys:
            self._always.add(name)
        for kind, value in keys:
            self._by_key[kind].setdefault(value, set()).add(name)

    def remove(self, name: str) -> None:
        if self._nodes.pop(name, None) is None:
            return
        self._always.discard(name)
        for kind, value in self._keys.pop(name):
            asked = self._by_key[kind][value]
            asked.discard(name)
            if not asked:
                del self._by_key[kind][value]

    def matching(self, page: Searchable) -> list[str]:
        """The names of the queries that the page matches, in order."""
        return sorted(name for name in self.candidates(page) if matches(self._nodes[name], page))

    def candidates(self, page: Searchable) -> set[str]:
        """The names of the queries that may match the page."""
        found = set(self._always)
        for kind, asked in self._by_key.items():
            if asked:
                for value in asked.keys() & _values(kind, page):
                    found |= asked[value]
        return found


def keys_of(node: Node) -> set[Key] | None:
    """Keys of which every page that matches has at least one; None if there are none such."""
    if isinstance(node, Phrase):
        whole = node.words[:-1] if node.is_prefix else node.words
        if whole:  # the longest is the rarest, as a rule
            return {("word", max(whole, key=len))}
        return {("start", node.words[0][:_START])}
    if isinstance(node, Is):
        return {(node.field, node.value)}
    if isinstance(node, Every):
        return max((found for part in node.parts if (found := keys_of(part))), key=_worth, default=None)
    if isinstance(node, Some):
        sides = [keys_of(part) for part in node.parts]
        return {key for side in sides if side for key in side} if all(sides) else None
    return None


def _worth(keys: Iterable[Key]) -> tuple[int, int, int]:
    """Rare keys are worth more, and few of them."""
    found = list(keys)
    return min(_WORTH[kind] for kind, _ in found), -len(found), min(len(value) for _, value in found)


def _values(kind: str, page: Searchable) -> AbstractSet[str]:
    """The keys of that kind that the page has."""
    if kind == "word":
        return page.vocabulary
    if kind == "site":
        return set(sites_of(page.host))
    if kind == "start":
        return {word[:_START] for word in page.vocabulary}
    return {{"lang": page.lang, "type": page.kind, "change": page.change}[kind]}
