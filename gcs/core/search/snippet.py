"""The excerpt of a text that shows why it was found, with the words of the query marked.

The best place is the window of the text with the most different words of the query; of equal ones the first. Work
grows with the length of the text alone.

Invariant: pure; marks are ranges of the excerpt, so that whoever shows it may mark as they like.
"""

import heapq
import re
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from gcs.core.search.query import Phrase
from gcs.core.search.words import folded

#: characters of an excerpt, about
LENGTH = 240
#: of the text that is looked through
_MOST_TEXT = 200_000
_MOST_MARKS = 50
#: words with letters beyond ASCII, which have to be folded
_FOREIGN_WORD = re.compile(r"(?<!\w)[0-9A-Za-z_]*+[^\W\x00-\x7f]\w*+")
#: begin, end, word
_Place = tuple[int, int, str]


class Snippet(NamedTuple):
    """An excerpt, and where in it words of the query stand."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


def snippet(text: str, wanted: list[Phrase], length: int = LENGTH) -> Snippet:
    """The excerpt of a text for the words and phrases of a query."""
    text = text[:_MOST_TEXT]
    exact = frozenset(word for phrase in wanted for word in (phrase.words[:-1] if phrase.is_prefix else phrase.words))
    starts = tuple(dict.fromkeys(phrase.words[-1] for phrase in wanted if phrase.is_prefix))
    begin = _best(_found(text, exact, starts), length, len(exact) if not starts else 0)
    begin = max(0, begin - length // 4)
    if begin:  # at a word
        space = text.find(" ", begin, begin + 40)
        begin = space + 1 if space >= 0 else begin
    end = len(text) if begin + length >= len(text) else (text.rfind(" ", begin, begin + length) + 1 or begin + length)
    cut = " ".join(text[begin:end].split())
    cut = f"{'… ' if begin else ''}{cut}{' …' if end < len(text) else ''}"
    marks = tuple((at, stop) for at, stop, _ in _found(cut, exact, starts))
    return Snippet(cut, marks[:_MOST_MARKS])


def _found(text: str, exact: frozenset[str], starts: tuple[str, ...]) -> Iterator[_Place]:
    """Where words of the query stand, in order."""
    plain = _plain_words(exact, starts)
    places = ((match.start(), match.end(), match[0].lower()) for match in plain.finditer(text)) if plain else iter(())
    return iter(places) if text.isascii() else heapq.merge(places, _foreign(text, exact, starts))


@lru_cache(64)
def _plain_words(exact: frozenset[str], starts: tuple[str, ...]) -> re.Pattern[str] | None:
    """Finds those in ASCII; where a word begins with one, not within another."""
    ends = [
        *map(re.escape, sorted(filter(str.isascii, exact))),
        *(rf"{re.escape(each)}[0-9A-Za-z_]*+" for each in starts if each.isascii()),
    ]
    return re.compile(rf"(?<!\w)(?ai:{'|'.join(ends)})(?!\w)") if ends else None


def _foreign(text: str, exact: frozenset[str], starts: tuple[str, ...]) -> Iterator[_Place]:
    is_spaced = all(map(str.isascii, (*exact, *starts)))
    for match in _FOREIGN_WORD.finditer(text):
        word = folded(match[0])
        if word in exact or (starts and word.startswith(starts)):
            yield match.start(), match.end(), word
        elif not is_spaced:
            for at, letter in enumerate(match[0]):
                if (one := folded(letter)) in exact:
                    yield match.start() + at, match.start() + at + 1, one


def _best(found: Iterable[_Place], length: int, enough: int) -> int:
    """Where the window with the most different words begins; nothing is better than `enough` of them."""
    window: deque[_Place] = deque()
    counts: dict[str, int] = {}
    best, most = 0, 0
    for each in found:
        window.append(each)
        counts[each[2]] = counts.get(each[2], 0) + 1
        while len(window) > 1 and each[1] - window[0][0] > length * 3 // 4:  # a word may be longer than that
            word = window.popleft()[2]
            counts[word] -= 1
            if not counts[word]:
                del counts[word]
        if len(counts) > most:
            best, most = window[0][0], len(counts)
            if most == enough:
                break
    return best
