"""The words of a text, as search and profiles compare them: whatever the engine, these are its words.

Case, accents and forms of a letter do not count (ＣＡＦÉ is cafe). Scripts that are written without spaces have a word
for each character; a query in such a script is then a phrase.

Invariants: words do not change when they are taken again, so that an engine may be given them joined by spaces. Work
grows with the length of the text alone: Unicode's normal forms sort the marks on a letter, in time that grows with the
square of their number, so only the first MOST_MARKS of them count (as in Unicode's stream-safe text).
"""

import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache

#: characters of a word; what is longer is several words
LONGEST = 64
#: marks on one letter that count
MOST_MARKS = 30
_PLAIN = re.compile(rf"\w{{1,{LONGEST}}}", re.ASCII)
#: what makes words of ASCII
_TO_WORDS = "".join(letter.lower() if letter.isalnum() or letter == "_" else " " for letter in map(chr, range(128)))
#: accents of Latin, Greek and Cyrillic letters, behind their letters
_ACCENTS = re.compile("[\u0300-\u036f]+")
#: kana, Han; Thai, Lao, Myanmar, Khmer: a word for each character
_UNSPACED = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)  # fmt: skip
_LETTER = re.compile(f"[{_UNSPACED}]")


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    if text.isascii():
        return _PLAIN.findall(text.lower())
    return _any_script().findall(_LETTER.sub(r" \g<0> ", folded(text)))


def joined(text: str) -> str:
    """The words of a text, apart by spaces, of which there may be several: for engines that cut at spaces."""
    if text.isascii() and not _has_long(plain := text.translate(_TO_WORDS)):
        return plain
    return " ".join(words(text))


def _has_long(plain: str) -> bool:
    """Whether there is a word that has to be cut."""
    begin = 0
    while len(plain) - begin > LONGEST:
        space = plain.rfind(" ", begin, begin + LONGEST + 1)
        if space < 0:
            return True
        begin = space + 1
    return False


def folded(text: str) -> str:
    """The text without case, accents, and forms of letters."""
    if text.isascii():
        return text.lower()
    text = _shortened(text)
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", _shortened(_ACCENTS.sub("", plain)))


def _shortened(text: str) -> str:
    """Without the marks on a letter that do not count."""
    if len(_marks().intersection(text)) < 2:  # of one kind, there is nothing to sort
        return text
    return _endless_marks().sub(r"\1", text)


@cache
def _marks() -> frozenset[str]:
    """The characters that normal forms sort."""
    every = map(chr, range(sys.maxunicode + 1))
    return frozenset(each for each in every if all(map(unicodedata.combining, unicodedata.normalize("NFKD", each))))


@cache
def _endless_marks() -> re.Pattern[str]:
    mark = f"[{re.escape(''.join(sorted(_marks())))}]"
    return re.compile(f"({mark}{{{MOST_MARKS}}}){mark}+")


@cache
def _any_script() -> re.Pattern[str]:
    """A word of any script: its vowel signs belong to it (made once: it looks at every character there is).

    Most words are ASCII even here, and are found without a look at the long list of signs.
    """
    signs = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    ranges = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _ranges(signs))
    plain = rf"[0-9A-Za-z_]{{1,{LONGEST}}}+(?![^\x00-\x7f])"
    return re.compile(rf"{plain}|(?=[0-9A-Za-z_]*+[^\x00-\x7f])[\w{_UNSPACED}{ranges}]{{1,{LONGEST}}}")


def _ranges(codes: list[int]) -> Iterator[tuple[int, int]]:
    """Numbers in order, as ranges."""
    first = codes[0]
    for code, following in zip(codes, [*codes[1:], 0]):
        if following != code + 1:
            yield first, code
            first = following
