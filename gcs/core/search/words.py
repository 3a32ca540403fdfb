"""The words of a text, as search and profiles compare them: whatever the engine, these are its words.

Case, accents and forms of a letter do not count (ＣＡＦÉ is cafe). Scripts that are written without spaces have a word
for each character; a query in such a script is then a phrase.

Invariant: words do not change when they are taken again, so that an engine may be given them joined by spaces.
"""

import re
import sys
import unicodedata
from functools import cache

#: characters of a word; what is longer is several words
LONGEST = 64
_PLAIN = re.compile(rf"\w{{1,{LONGEST}}}", re.ASCII)
#: accents of Latin, Greek and Cyrillic letters, behind their letters
_ACCENTS = re.compile("[\u0300-\u036f]+")
#: kana, Han; Thai, Lao, Myanmar, Khmer: a word for each character
_UNSPACED = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)  # fmt: skip


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    if text.isascii():
        return _PLAIN.findall(text.lower())
    return _any_script().findall(folded(text))


def folded(text: str) -> str:
    """The text without case, accents, and forms of letters."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", plain))


@cache
def _any_script() -> re.Pattern[str]:
    """A word of any script: its vowel signs belong to it (made once: it looks at every character there is)."""
    marks = "".join(chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    ranges = "".join(re.escape(mark) for mark in marks if not re.match(f"[{_UNSPACED}]", mark))
    return re.compile(rf"[{_UNSPACED}]|(?:[^\W{_UNSPACED}]|[{ranges}]){{1,{LONGEST}}}")
