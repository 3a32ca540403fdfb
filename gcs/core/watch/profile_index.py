"""Which of many profiles a page matches, without a look at each of them.

For each profile one *key* is chosen, or several of which one must be there: a word that every page which matches has, a
site, a language, the first letters of a word. Only profiles that have a key of the page are asked. (Parallel Profile
Matching, the paper's reference [3], does the same on the nodes of a network.) Which words are rare is learnt from the
pages; until then, long words count as rare.

Invariant: `matching` names the same profiles as `matches` of each of them, on any page, whatever was learnt. Profiles
are added and removed at any time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet

from gcs.core.search.matching import matcher
from gcs.core.search.query import Every, Is, Node, Phrase, Some, parse, phrases
from gcs.core.search.searchable import Searchable, sites_of

#: what a profile is found by: the kind ("word", "site", "start"…) and its value
Key = tuple[str, str]
#: letters of the beginning of a word that make a key
_START = 2
#: of so many pages one is learnt from; after so many of these, and eight times as many…, keys are chosen anew
_LEARN_EVERY, _LEARNT = 8, 32
#: kinds of keys, the rarest on pages first
_WORTH = {"word": 3, "site": 2, "start": 1, "type": 0, "lang": 0, "change": 0}


class ProfileIndex:
    """Queries by name."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._matchers: dict[str, Callable[[Searchable], bool]] = {}
        self._keys: dict[str, tuple[Key, ...]] = {}
        #: by kind of key and value: the profiles that are asked when a page has it
        self._by_key: dict[str, dict[str, set[str]]] = {kind: {} for kind in _WORTH}
        #: those that are asked for every page
        self._always: set[str] = set()
        #: words that profiles wait for, and how many of the pages that were learnt from have each
        self._words: set[str] = set()
        self._often: Counter[str] = Counter()
        self._met = self._learnt = 0
        self._anew_at = _LEARNT

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, name: str, query: str) -> None:
        """Add a query, or put it in the place of the one of that name."""
        self.remove(name)
        node = self._nodes[name] = parse(query)
        self._matchers[name] = matcher(node)
        self._words.update(word for phrase in phrases(node) for word in phrase.words)
        self._choose(name, node)

    def _choose(self, name: str, node: Node) -> None:
        keys = self._keys[name] = tuple(keys_of(node, self._often) or ())
        if not keys:
            self._always.add(name)
        for kind, value in keys:
            self._by_key[kind].setdefault(value, set()).add(name)

    def remove(self, name: str) -> None:
        if self._nodes.pop(name, None) is not None:
            del self._matchers[name]
            self._forget(name)

    def _forget(self, name: str) -> None:
        self._always.discard(name)
        for kind, value in self._keys.pop(name):
            asked = self._by_key[kind][value]
            asked.discard(name)
            if not asked:
                del self._by_key[kind][value]

    def matching(self, page: Searchable) -> list[str]:
        """The names of the queries that the page matches, in order."""
        self._learn(page)
        matchers = self._matchers
        return sorted(name for name in self.candidates(page) if matchers[name](page))

    def _learn(self, page: Searchable) -> None:
        self._met += 1
        if self._met % _LEARN_EVERY:
            return
        self._often.update(self._words & page.vocabulary)
        self._learnt += 1
        if self._learnt == self._anew_at:
            self._anew_at *= 8
            for name, node in self._nodes.items():
                self._forget(name)
                self._choose(name, node)

    def candidates(self, page: Searchable) -> set[str]:
        """The names of the queries that may match the page."""
        found = set(self._always)
        for kind, asked in self._by_key.items():
            if asked:
                for value in asked.keys() & _values(kind, page):
                    found |= asked[value]
        return found


def keys_of(node: Node, often: Mapping[str, int] = {}) -> set[Key] | None:
    """Keys of which every page that matches has at least one; None if there are none such.

    `often`: how many pages have each word, of those that were looked at.
    """
    if isinstance(node, Phrase):
        whole = node.words[:-1] if node.is_prefix else node.words
        if whole:  # the longest is the rarest, as a rule
            return {("word", max(whole, key=lambda word: (-often.get(word, 0), len(word))))}
        return {("start", node.words[0][:_START])}
    if isinstance(node, Is):
        return {(node.field, node.value)}
    if isinstance(node, Every):
        keys = (found for part in node.parts if (found := keys_of(part, often)))
        return max(keys, key=lambda found: _worth(found, often), default=None)
    if isinstance(node, Some):
        sides = [keys_of(part, often) for part in node.parts]
        return {key for side in sides if side for key in side} if all(sides) else None
    return None


def _worth(keys: Iterable[Key], often: Mapping[str, int]) -> tuple[int, int, int, int]:
    """Rare keys are worth more, and few of them."""
    found = list(keys)
    pages = sum(often.get(value, 0) for kind, value in found if kind == "word")
    return min(_WORTH[kind] for kind, _ in found), -pages, -len(found), min(len(value) for _, value in found)


def _values(kind: str, page: Searchable) -> AbstractSet[str]:
    """The keys of that kind that the page has."""
    if kind == "word":
        return page.vocabulary
    if kind == "site":
        return set(sites_of(page.host))
    if kind == "start":
        return {word[:_START] for word in page.vocabulary}
    return {{"lang": page.lang, "type": page.kind, "change": page.change}[kind]}
