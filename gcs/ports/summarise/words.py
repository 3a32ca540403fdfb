"""All words of a document, wherever they stand: what somebody else's summary of it is held against.

Not the main text, which is a matter of taste, but everything that a text could have been taken from. Never raises.
"""

from selectolax.lexbor import LexborHTMLParser

from gcs.core.recognise import Format, recognise
from gcs.ports.summarise.charset import as_text, as_utf8
from gcs.ports.summarise.options import DEFAULT


def all_words(content: bytes, content_type: str) -> str:
    """The words of an HTML page, elements apart; of anything else, its text as it stands."""
    content = content[: DEFAULT.max_bytes]
    if recognise(content_type, content) is not Format.HTML:
        return as_text(content, content_type)
    root = LexborHTMLParser(as_utf8(content, content_type)).root
    return root.text(deep=True, separator=" ") if root else ""
