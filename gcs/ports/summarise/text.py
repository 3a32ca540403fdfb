"""Plain text: its own main text. The first line is its title; URLs in it are not followed."""

from selectolax.lexbor import LexborHTMLParser

from gcs.core.page.recognise import Format, recognise
from gcs.core.page.simhash import simhash
from gcs.core.page.values import Document
from gcs.ports.summarise.charset import as_text, as_utf8
from gcs.ports.summarise.main_text import language_of
from gcs.ports.summarise.options import DEFAULT, Depth, Options

# -- All words of a document, wherever they stand: what somebody else's summary of it is held against.


def all_words(content: bytes, content_type: str) -> str:
    """The words of an HTML page, elements apart; of anything else, its text as it stands."""
    content = content[: DEFAULT.max_bytes]
    if recognise(content_type, content) is not Format.HTML:
        return as_text(content, content_type)
    root = LexborHTMLParser(as_utf8(content, content_type)).root
    return root.text(deep=True, separator=" ") if root else ""


# -- Mail and news (RFC 5322): the part that a person reads. Attachments are passed over.


def message(content: bytes) -> tuple[bytes, str, str]:
    """The text of a message, preferably plain, its content type, and the subject."""
    from email import policy  # slow to load, and seldom needed
    from email.parser import BytesParser

    parsed = BytesParser(policy=policy.default).parsebytes(content)
    try:
        subject, part = str(parsed.get("subject", "")), parsed.get_body(("plain", "html"))
        if part is None:
            return b"", "text/plain", subject
        text = part.get_payload(decode=True)
    except (LookupError, ValueError, KeyError, AttributeError, TypeError):  # headers that the parser trips over
        return content, "text/plain", ""
    charset = part.get_content_charset("utf-8")
    return (text if isinstance(text, bytes) else b""), f"{part.get_content_type()}; charset={charset}", subject


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
