"""PDF: its text, page after page, and its title. Only where the depth is `full`: it takes seconds, so it is for the
processes of the text pool, which have limits of time and memory of their own.
"""

import io

from gcs.core.page.simhash import simhash
from gcs.core.page.values import Document
from gcs.ports.summarise.main_text import language_of
from gcs.ports.summarise.options import Depth, Options


def summarise_pdf(content: bytes, depth: Depth, options: Options) -> Document:
    """The Document of a PDF file; an encrypted one says nothing."""
    if depth != "full":
        return Document(hrefs=[])
    from pypdf import PdfReader  # slow to load, and the fetch loop never needs it

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        return Document(hrefs=[])
    texts: list[str] = []
    room = options.max_text_bytes
    for page in reader.pages:
        texts.append(page.extract_text()[:room])
        room -= len(texts[-1])
        if room <= 0:
            break
    text = "\n\n".join(filter(None, map(str.strip, texts))).replace("\0", "")
    title = (reader.metadata and reader.metadata.title) or ""
    return Document(hrefs=[], title=title, language=language_of(text), text=text, simhash=simhash(text) if text else 0)
