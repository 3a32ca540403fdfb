"""Whether a page matches a query. The engines of the index answer as this function does, for all pages at once."""

from gcs.core.search.query import Between, Every, Is, Node, Phrase, Some
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
