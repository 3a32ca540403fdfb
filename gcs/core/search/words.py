"""The words of a text, as search and profiles compare them: whatever the engine, these are its words.

Case, accents and forms of a letter do not count (ＣＡＦÉ is cafe). Scripts that are written without spaces have a word
for each character; a query in such a script is then a phrase.

Invariants: words do not change when they are taken again, so that an engine may be given them joined by spaces. Work
grows with the length of the text alone: Unicode's normal forms sort the marks on a letter, in time that grows with the
square of their number, so only the first MOST_MARKS of them count (as in Unicode's stream-safe text).
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

#: characters of a word; what is longer is several words
LONGEST = 64
#: marks on one letter that count
MOST_MARKS = 30
#: what makes words of ASCII; bytes of other letters stay as they are
_WORD_ASCII = "".join(letter.lower() if letter.isalnum() or letter == "_" else " " for letter in map(chr, range(128)))
_TO_WORDS = _WORD_ASCII.encode() + bytes(range(128, 256))
#: where spaces stay and all else is x: shows in no time whether there are words that have to be cut
_TO_SHAPE = bytes(code if code == ord(" ") else ord("x") for code in range(256))
_LONG_WORD = b"x" * (LONGEST + 1)
_TOO_LONG = re.compile(f"[^ ]{{{LONGEST}}}(?=[^ ])")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]+")
#: letters of a text that are replaced one by one
_MOST_REPLACED = 100
#: code points that may be marks: other planes have none
_CODES = (*range(0x20000), *range(0xE0000, 0xE1000))
#: accents of Latin, Greek and Cyrillic letters, behind their letters
_ACCENTS = re.compile("[\u0300-\u036f]+")
#: kana, Han; Thai, Lao, Myanmar, Khmer: a word for each character
_UNSPACED = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)  # fmt: skip
_LETTER = re.compile(f"[{_UNSPACED}]")
#: parts of Korean syllables, which join with what stands before them
_JAMO = range(0x1160, 0x1200)


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    return joined(text).split()


def joined(text: str) -> str:
    """The words of a text, apart by spaces, of which there may be several: for engines that cut at spaces."""
    plain = text if text.isascii() else _by_letters(text)
    if plain is not None:
        found = plain.encode().translate(_TO_WORDS)
        is_long = _LONG_WORD in found.translate(_TO_SHAPE)
        return _TOO_LONG.sub(r"\g<0> ", found.decode()) if is_long else found.decode()
    return " ".join(_any_script().findall(_LETTER.sub(r" \g<0> ", folded(text))))


def _by_letters(text: str) -> str | None:
    """A text of which only the ASCII is left to do; None where letters cannot be taken one by one."""
    beyond = set("".join(_BEYOND_ASCII.findall(text)))
    replaced, is_unspaced = 0, False
    for letter in beyond:
        plain = _plain(letter)
        if plain is None or replaced > _MOST_REPLACED:
            return None
        if plain != letter:
            text, replaced = text.replace(letter, plain), replaced + 1
        is_unspaced = is_unspaced or letter >= "\u0e00"
    return _LETTER.sub(r" \g<0> ", text) if is_unspaced else text


@lru_cache(1 << 15)
def _plain(letter: str) -> str | None:
    """What a letter is in the words of a text; None if that depends on the letters beside it."""
    found = _folded(letter)
    if found and (_is_sign(found[0]) or unicodedata.combining(found[0]) or ord(found[0]) in _JAMO):
        return None
    return "".join(map(_in_word, unicodedata.normalize("NFC", found)))


def _in_word(letter: str) -> str:
    is_part = letter.isascii() or letter.isalnum() or _is_sign(letter) or _LETTER.match(letter)
    return letter if is_part else " "


def _is_sign(letter: str) -> bool:
    """A vowel sign or the like, which belongs to its word."""
    return unicodedata.category(letter) in ("Mn", "Mc")


def folded(text: str) -> str:
    """The text without case, accents, and forms of letters."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", _shortened(_folded(_shortened(text))))


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return _ACCENTS.sub("", plain)


def _shortened(text: str) -> str:
    """Without the marks on a letter that do not count."""
    if len(_marks().intersection(text)) < 2:  # of one kind, there is nothing to sort
        return text
    return _endless_marks().sub(r"\1", text)


@cache
def _marks() -> frozenset[str]:
    """The characters that normal forms sort."""
    every = map(chr, _CODES)
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
    signs = [code for code in _CODES if _is_sign(chr(code))]
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
