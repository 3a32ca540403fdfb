"""Plain text; URLs in it are not followed.

`all_words` is for gatherers: all words of a document, to compare the summary of a helper with.
"""

from turbohtml import parse

from gcs.core.page.language import detect
from gcs.core.page.recognise import Format, recognise
from gcs.core.page.simhash import simhash
from gcs.core.page.values import Document
from gcs.ports.summarise import DEFAULT, Source
from gcs.ports.summarise.encoding import as_text, as_utf8
from gcs.ports.summarise.markup_guard import bounded

#: letters of the first line that make a title
_TITLE_LETTERS = 120


def summarise_text(source: Source) -> Document:
    """The Document of a text file; its first line is its title."""
    text = as_text(source.content[: source.options.max_text_bytes], source.content_type).replace("\0", "").strip()
    first_line = text.partition("\n")[0]
    title = " ".join(first_line.split())[:_TITLE_LETTERS]
    if source.depth == "links" or not text:
        return Document(hrefs=[], title=title)
    return Document(hrefs=[], title=title, language=detect(text), text=text, simhash=simhash(text))


def all_words(content: bytes, content_type: str) -> str:
    """The words of an HTML page, elements apart; of anything else, its text as it stands."""
    content = content[: DEFAULT.max_bytes]
    if recognise(content_type, content) is not Format.HTML:
        return as_text(content, content_type)
    return " ".join(parse(bounded(as_utf8(content, content_type)), encoding="utf-8", positions=False).strings)
