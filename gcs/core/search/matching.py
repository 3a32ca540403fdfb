"""Whether a page matches a query. The engines of the index answer as this function does, for all pages at once."""

from collections.abc import Callable

from gcs.core.search.query import Between, Every, Is, Node, Phrase, Some, Without
from gcs.core.search.searchable import Searchable


def matches(node: Node, page: Searchable) -> bool:
    if isinstance(node, Phrase):
        return _has(node, page)
    if isinstance(node, Every):
        return all(matches(part, page) for part in node.parts)
    if isinstance(node, Some):
        return any(matches(part, page) for part in node.parts)
    if isinstance(node, Is):
        if node.field == "site":
            return page.host == node.value or page.host.endswith(f".{node.value}")
        value = {"lang": page.lang, "type": page.kind, "change": page.change}[node.field]
        return value == node.value
    if isinstance(node, Between):
        return node.least <= (page.day if node.field == "date" else page.depth) <= node.most
    return not matches(node.part, page)


def _has(phrase: Phrase, page: Searchable) -> bool:
    if len(phrase.words) == 1 and not phrase.is_prefix:
        return phrase.words[0] in (page.title_words if phrase.in_title else page.vocabulary)
    wanted = needle(phrase)
    return wanted in page.title_line or (not phrase.in_title and wanted in page.text_line)


def needle(phrase: Phrase) -> str:
    """What to look for in a line of words."""
    return f" {' '.join(phrase.words)}{'' if phrase.is_prefix else ' '}"


def matcher(node: Node) -> Callable[[Searchable], bool]:
    """The same as `matches`, made ready for many pages: four times as fast."""
    if isinstance(node, Phrase):
        return _phrase_matcher(node)
    if isinstance(node, Every | Some):
        parts, wanted = tuple(map(matcher, node.parts)), isinstance(node, Some)

        def combined(page: Searchable) -> bool:
            for part in parts:
                if part(page) is wanted:
                    return wanted
            return not wanted

        return combined
    if isinstance(node, Without):
        inner = matcher(node.part)
        return lambda page: not inner(page)
    return lambda page: matches(node, page)


def _phrase_matcher(phrase: Phrase) -> Callable[[Searchable], bool]:
    if len(phrase.words) == 1 and not phrase.is_prefix:
        (word,) = phrase.words
        return (lambda page: word in page.title_words) if phrase.in_title else (lambda page: word in page.vocabulary)
    wanted, whole = needle(phrase), phrase.words[:-1] if phrase.is_prefix else phrase.words
    if phrase.in_title:
        return lambda page: wanted in page.title_line
    return lambda page: page.vocabulary.issuperset(whole) and (wanted in page.text_line or wanted in page.title_line)
