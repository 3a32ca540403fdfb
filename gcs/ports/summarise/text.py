"""Documents that are mostly text: plain text (URLs in it are not followed), PDF, and mail or news (RFC 5322).

`all_words` is for gatherers: all words of a document, to compare the summary of a helper with.
"""

import io

import msgspec
from selectolax.lexbor import LexborHTMLParser

from gcs.core.page.recognise import Format, recognise
from gcs.core.page.simhash import simhash
from gcs.core.page.values import Document
from gcs.ports.summarise import DEFAULT, Source
from gcs.ports.summarise.html import as_text, as_utf8, language_of, summarise_html

#: letters of the first line that make a title
_TITLE_LETTERS = 120


def summarise_text(source: Source) -> Document:
    """The Document of a text file; its first line is its title."""
    text = as_text(source.content[: source.options.max_text_bytes], source.content_type).replace("\0", "").strip()
    first_line = text.partition("\n")[0]
    title = " ".join(first_line.split())[:_TITLE_LETTERS]
    if source.depth == "links" or not text:
        return Document(hrefs=[], title=title)
    return Document(hrefs=[], title=title, language=language_of(text), text=text, simhash=simhash(text))


def summarise_pdf(source: Source) -> Document:
    """The Document of a PDF file: its text, page after page, and its title; an encrypted one says nothing.

    Only where the depth is `full`: it takes seconds, so it is for the processes of the text pool, which have limits of
    time and memory of their own.
    """
    if source.depth != "full":
        return Document(hrefs=[])
    from pypdf import PdfReader  # slow to load, and the fetch loop never needs it

    reader = PdfReader(io.BytesIO(source.content))
    if reader.is_encrypted and not reader.decrypt(""):
        return Document(hrefs=[])
    texts: list[str] = []
    room = source.options.max_text_bytes
    for page in reader.pages:
        texts.append(page.extract_text()[:room])
        room -= len(texts[-1])
        if room <= 0:
            break
    text = "\n\n".join(filter(None, map(str.strip, texts))).replace("\0", "")
    title = (reader.metadata and reader.metadata.title) or ""
    return Document(hrefs=[], title=title, language=language_of(text), text=text, simhash=simhash(text) if text else 0)


def summarise_mail(source: Source) -> Document:
    """The Document of a message: that of the part which a person reads, under the subject."""
    part, content_type, title = message(source.content)
    read = summarise_html if content_type.startswith("text/html") else summarise_text
    document = read(msgspec.structs.replace(source, content=part, content_type=content_type))
    return msgspec.structs.replace(document, title=title or document.title)


def message(content: bytes) -> tuple[bytes, str, str]:
    """The part of a message that a person reads, preferably plain text; its content type; the subject."""
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


def all_words(content: bytes, content_type: str) -> str:
    """The words of an HTML page, elements apart; of anything else, its text as it stands."""
    content = content[: DEFAULT.max_bytes]
    if recognise(content_type, content) is not Format.HTML:
        return as_text(content, content_type)
    root = LexborHTMLParser(as_utf8(content, content_type)).root
    return root.text(deep=True, separator=" ") if root else ""
