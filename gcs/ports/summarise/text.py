"""Plain text: its own main text. The first line is its title; URLs in it are not followed."""

from gcs.core.page import Document
from gcs.core.simhash import simhash
from gcs.ports.summarise.charset import as_text
from gcs.ports.summarise.maintext import language_of
from gcs.ports.summarise.options import Depth, Options

#: letters of the first line that make a title
_TITLE_LETTERS = 120


def summarise_text(content: bytes, content_type: str, depth: Depth, options: Options) -> Document:
    """The Document of a text file."""
    text = as_text(content[: options.max_text_bytes], content_type).replace("\0", "").strip()
    first_line = text.partition("\n")[0]
    title = " ".join(first_line.split())[:_TITLE_LETTERS]
    if depth == "links" or not text:
        return Document(hrefs=[], title=title)
    return Document(hrefs=[], title=title, language=language_of(text), text=text, simhash=simhash(text))
