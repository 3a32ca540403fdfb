"""Formats: documents that are neither HTML nor lists of links, one module per format. docs/formats.md has the table.

Each module turns the bytes of a stranger into a Document. The libraries are slow to load, so they are loaded by the
first document that needs them. All of them run in a process of the text pool, which has limits of time and memory.

Invariants: what is unfolded of a document is bounded (`zip_package`), and so are its text and its links.
"""

from collections.abc import Iterable
from itertools import islice

from gcs.core.page.language import detect
from gcs.core.page.simhash import simhash
from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.html import primary_language

#: letters of a title and of a description
_TITLE_LETTERS, _DESCRIPTION_LETTERS = 300, 1_000
#: letters of the first line that make a title where the document has none
_FIRST_LINE_LETTERS = 120
#: schemes of links out of a document that was not made for the web; a relative one leads into its author's disk
_WEB = ("http://", "https://")


def document_of(
    source: Source,
    lines: Iterable[str] = (),
    hrefs: Iterable[str] = (),
    *,
    title: str = "",
    description: str = "",
    language: str = "",
    of_the_web: bool = False,
) -> Document:
    """The Document of a file: as many of its lines and links as the options allow.

    Relative links count only where the format is one of the web.
    """
    found = (href for each in hrefs if (href := each.strip()) and (of_the_web or href.startswith(_WEB)))
    links = list(islice(found, source.options.max_links))
    is_short = source.depth == "links"
    text = joined(lines, _TITLE_LETTERS if is_short else source.options.max_text_bytes)
    title = one_line(title) or one_line(text.partition("\n")[0])[:_FIRST_LINE_LETTERS]
    text = "" if is_short else text
    return Document(
        hrefs=links,
        title=title[:_TITLE_LETTERS],
        description=one_line(description)[:_DESCRIPTION_LETTERS],
        language=detect(text, primary_language(language)),
        text=text,
        simhash=simhash(text) if text else 0,
    )


def joined(lines: Iterable[str], most: int) -> str:
    """Lines as one text of so many characters at most; no more of them are asked for than fit."""
    kept: list[str] = []
    room = most
    for line in lines:
        if line := line.strip():
            kept.append(line[:room])
            room -= len(line) + 1
            if room <= 0:
                break
    return "\n".join(kept).replace("\0", "")


def one_line(text: str) -> str:
    return " ".join(text[:10_000].replace("\0", "").split())


def described(*parts: str) -> str:
    """What is known of a file that has no words of its own, as one line."""
    return ", ".join(filter(None, parts))
