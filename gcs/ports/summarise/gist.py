"""Gist: the summary of a page in a sentence or three, for the eye of a person. Pure."""

import re

#: sentences taken from the text where the page does not describe itself
_SENTENCES = 3
#: letters of a gist at most
_LETTERS = 400
#: shorter lines are headings, dates, bylines and crumbs
_LINE_LETTERS = 40
_SENTENCE = re.compile(r".+?(?:[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？]+|$)", re.S)


def gist(description: str, text: str) -> str:
    """The description of a page, or the first sentences of its text."""
    if description:
        return clipped(description)
    sentences: list[str] = []
    letters = 0
    for line in text[: 20 * _LETTERS].splitlines():
        if len(line) < _LINE_LETTERS:
            continue
        for match in _SENTENCE.finditer(" ".join(line[: 4 * _LETTERS].split())):
            sentences.append(match[0].strip())
            letters += len(match[0])
            if len(sentences) == _SENTENCES or letters > _LETTERS:
                return clipped(" ".join(sentences))
    return clipped(" ".join(sentences) or " ".join(text[:_LETTERS].split()))


def clipped(text: str, most: int = _LETTERS) -> str:
    """Cut at a word where it is too long."""
    if len(text) <= most:
        return text
    cut = text[:most]
    return (cut[: cut.rfind(" ")] if " " in cut else cut) + "…"
