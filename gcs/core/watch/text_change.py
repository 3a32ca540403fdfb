"""What has changed in a text, for people: the sentences that came and went, with a little of what is around them.

A line is a paragraph or, where paragraphs are long, a sentence; so one changed word shows one sentence. Work is
bounded: what lies beyond a number of lines is not compared.

Invariant: pure. The lines that stayed and went are the old text, those that stayed and came the new one, as long as
nothing is cut.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from gcs.core.search.words import words

#: lines of context around a change, lines of a diff, characters of a line
CONTEXT, MOST_LINES, MOST_LINE = 1, 200, 500
#: lines of each text that are compared
_MOST_COMPARED = 1_500
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_LONG = 120


class TextChange(NamedTuple):
    """How much has changed, and what."""

    words_added: int
    words_removed: int
    diff: str


def text_change(old: str, new: str, with_diff: bool = True) -> TextChange:
    """What has changed from one text to the other."""
    before, after = Counter(words(old)), Counter(words(new))
    added, removed = (after - before).total(), (before - after).total()
    return TextChange(added, removed, "\n".join(diff_lines(old, new)) if with_diff and old != new else "")


def sentences(text: str) -> list[str]:
    """The lines of a text as they are compared."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [
        part for line in lines if line for part in (_SENTENCE.split(line) if len(line) > _LONG else (line,)) if part
    ]


def diff_lines(old: str, new: str) -> list[str]:
    """The difference, a line each: "- " went, "+ " came, "  " stands around, "…" stands for what is left out."""
    before, after = sentences(old)[:_MOST_COMPARED], sentences(new)[:_MOST_COMPARED]
    found: list[str] = []
    for group in _groups(before, after):
        if found:
            found.append("…")
        for tag, first, last, begin, end in group:
            if tag == "equal":
                found += (f"  {line[:MOST_LINE]}" for line in before[first:last])
            else:
                found += chain(
                    (f"- {line[:MOST_LINE]}" for line in before[first:last]),
                    (f"+ {line[:MOST_LINE]}" for line in after[begin:end]),
                )
    return found if len(found) <= MOST_LINES else [*found[:MOST_LINES], "…"]


def _groups(before: list[str], after: list[str]) -> Iterator[list[tuple[str, int, int, int, int]]]:
    """Changes with their context."""
    matcher = difflib.SequenceMatcher(None, _numbered(before), _numbered(after), autojunk=False)
    yield from matcher.get_grouped_opcodes(CONTEXT)


def _numbered(lines: list[str]) -> list[tuple[str, int]]:
    """Each line with the number of its occurrence: difflib's work grows with the square of repetitions."""
    seen: Counter[str] = Counter()
    numbered = []
    for line in lines:
        numbered.append((line, seen[line]))
        seen[line] += 1
    return numbered
