"""Likeness: whether two looks at a page have seen the same page.

One look is somebody's word, the other our own. Pages change between two looks, and two readers of the same bytes
differ a little, so both are let pass; what is not: links that are not there, words that the page does not say, links
and text kept back. Where the bytes were the same, the page is no excuse, and little may differ.

Invariant: pure; a look that copies ours is always the same page.
"""

from dataclasses import dataclass
from enum import StrEnum
from random import Random

#: share of links, both ways, and of words that may differ: where the bytes are the same, and where they are not
SAME_LINKS, SAME_WORDS = 0.05, 0.3
OTHER_LINKS, OTHER_WORDS = 0.4, 0.6
#: words are compared by so many pieces of so many characters, taken at random from what is claimed
PIECES, PIECE_CHARS = 64, 12
#: of a text of so many characters at least this share must be told
LONG_CHARS, TOLD = 500, 0.2


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen at a URL. URLs are canonical."""

    #: "sha1:BASE32" of the body as sent, of the content, or of both
    digests: frozenset[str]
    #: out-links, and where the content belongs
    links: frozenset[str]
    title: str = ""
    #: main text
    text: str = ""
    #: all words of the page; only our own look knows them
    words: str = ""


class Likeness(StrEnum):
    """How alike two looks are."""

    SAME = "same"
    CHANGED = "changed"  # different bytes, much the same page
    OTHER = "other"


def compare(claim: Look, own: Look, chance: Random) -> tuple[Likeness, str]:
    """How alike they are; and, if they are not, what is wrong with the claim."""
    same_bytes = not claim.digests.isdisjoint(own.digests)
    links, words = (SAME_LINKS, SAME_WORDS) if same_bytes else (OTHER_LINKS, OTHER_WORDS)
    made_up, missing = claim.links - own.links, own.links - claim.links
    if len(made_up) > links * len(claim.links):
        return Likeness.OTHER, f"{len(made_up)} of {len(claim.links)} links are not on the page"
    if len(missing) > links * len(own.links):
        return Likeness.OTHER, f"{len(missing)} of {len(own.links)} links of the page are missing"
    if (unsaid := _unsaid(claim, own, chance)) > words:
        return Likeness.OTHER, f"{unsaid:.0%} of the text is not on the page"
    if len(own.text) >= LONG_CHARS and len(claim.text) < TOLD * len(own.text):
        return Likeness.OTHER, f"{len(claim.text)} of {len(own.text)} characters of text"
    return (Likeness.SAME if same_bytes else Likeness.CHANGED), ""


def _unsaid(claim: Look, own: Look, chance: Random) -> float:
    """The share of the claimed title and text that the page does not say. White space does not count."""
    told, page = _squeezed(f"{claim.title} {claim.text}"), _squeezed(f"{own.title} {own.text} {own.words}")
    if len(told) <= PIECE_CHARS:
        return 0.0 if told in page else 1.0
    last = len(told) - PIECE_CHARS
    starts = range(last + 1) if last < PIECES else [chance.randint(0, last) for _ in range(PIECES)]
    return sum(told[at : at + PIECE_CHARS] not in page for at in starts) / len(starts)


def _squeezed(text: str) -> str:
    return "".join(text.lower().split())
