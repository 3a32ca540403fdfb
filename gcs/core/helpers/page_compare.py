"""Whether a helper's claim about a page agrees with *looks*: what the gatherer itself saw there.

Where the bytes are the same, the contents must be: no link that is not there, hardly one left out, no title,
description or text that the page does not say, no other facts. Where the bytes differ, the page may have changed: two
looks show how much it changes, and a claim may differ twice as much.

Invariant: pure; a claim that copies a look always agrees with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

#: share of the links that may be left out, and of the words that may be other ones: two readers of the same bytes
LEFT_OUT, UNSAID = 0.05, 0.1
#: the same, and links that are not there, between two states of what is much the same page
CHANGED = 0.5
#: words are compared by so many pieces of so many characters, taken at random from what is claimed
PIECES, PIECE_CHARS = 64, 12
#: of a text of so many characters at least this share must be told
LONG_CHARS, TOLD = 500, 0.2


@dataclass(frozen=True, slots=True)
class PageView:
    """What was seen at a URL. URLs are canonical."""

    #: "sha1:BASE32" of the body as sent, of the content, or of both
    digests: frozenset[str]
    #: out-links, and where the content belongs
    links: frozenset[str]
    title: str = ""
    #: main text
    text: str = ""
    #: all words of the page; only known of a look
    words: str = ""
    description: str = ""
    #: whatever else is kept of a page: its name and value. A look has all values that are true
    facts: frozenset[tuple[str, str]] = frozenset()


def same_bytes(one: PageView, other: PageView) -> bool:
    return not one.digests.isdisjoint(other.digests)


def misfit(claim: PageView, looks: Sequence[PageView], chance: Random) -> str:
    """Where a claim disagrees with the looks; "" if nowhere. It may differ twice as much as they do."""
    links_s, words_s = _unrest(looks, chance)
    there = frozenset().union(*(look.links for look in looks))
    everywhere = there.intersection(*(look.links for look in looks))
    made_up, missing = claim.links - there, everywhere - claim.links
    if len(made_up) > 2 * links_s * len(claim.links):
        return f"{len(made_up)} of {len(claim.links)} links are not on the page"
    if len(missing) > (LEFT_OUT + 2 * links_s) * len(everywhere):
        return f"{len(missing)} of {len(everywhere)} links of the page are missing"
    page = _page(looks)
    for name, told in (("text", claim.text), ("title", claim.title), ("description", claim.description)):
        if (unsaid := _unsaid(told, page, chance)) > UNSAID + 2 * words_s:
            return f"{unsaid:.0%} of the {name} is not on the page"
    known = frozenset().union(*(look.facts for look in looks))
    asked = {what for what, _ in known}
    for what, value in sorted(claim.facts - known):
        if what in asked:
            return f"{what} is not {value}"
    longest = max(len(look.text) for look in looks)
    if longest >= LONG_CHARS and len(claim.text) < TOLD * longest:
        return f"{len(claim.text)} of {longest} characters of text"
    return ""


def resembles(claim: PageView, look: PageView, chance: Random) -> bool:
    """Whether the claim could be of another state of the page."""
    made_up, missing = claim.links - look.links, look.links - claim.links
    return (
        len(made_up) <= CHANGED * len(claim.links)
        and len(missing) <= CHANGED * len(look.links)
        and _unsaid(_told(claim), _page([look]), chance) <= CHANGED
    )


def is_wild(looks: Sequence[PageView], chance: Random) -> bool:
    """Whether the page is another one at every look."""
    return max(_unrest(looks, chance)) > CHANGED


def _unrest(looks: Sequence[PageView], chance: Random) -> tuple[float, float]:
    """The shares of links and of words that differ from look to look."""
    links = words = 0.0
    for one, other in pairwise(looks):
        union = one.links | other.links
        links = max(links, len(one.links ^ other.links) / len(union) if union else 0.0)
        for told, page in ((one, other), (other, one)):
            words = max(words, _unsaid(_told(told), _page([page]), chance))
    return links, words


def _told(look: PageView) -> str:
    return f"{look.title} {look.text}"


def _page(looks: Sequence[PageView]) -> str:
    """All words of the looks, without white space, which does not count."""
    return "\n".join(_squeezed(f"{_told(look)} {look.words} {look.description}") for look in looks)


def _unsaid(told: str, page: str, chance: Random) -> float:
    """The share of the claimed text that stands on no page."""
    told = _squeezed(told)
    if len(told) <= PIECE_CHARS:
        return 0.0 if told in page else 1.0
    last = len(told) - PIECE_CHARS
    starts = range(last + 1) if last < PIECES else [chance.randint(0, last) for _ in range(PIECES)]
    return sum(told[at : at + PIECE_CHARS] not in page for at in starts) / len(starts)


def _squeezed(text: str) -> str:
    return "".join(text.lower().split())
