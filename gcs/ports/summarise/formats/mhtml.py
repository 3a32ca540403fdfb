"""MHTML: a web page with its parts in one message, as browsers save it. The page is read; its address is the base."""

import re

import msgspec

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.mail import summarise_mail

#: bytes in which the address stands: in the head of the message, or of its first part
_HEAD_BYTES = 16 << 10
_LOCATION = re.compile(rb"^(?:snapshot-)?content-location:[ \t]*(https?://[^\s\"<>]{1,4000})", re.I | re.M)


def summarise_mhtml(source: Source) -> Document:
    document = summarise_mail(source)
    location = _LOCATION.search(source.content[:_HEAD_BYTES])
    if document.base or not location:
        return document
    return msgspec.structs.replace(document, base=location[1].decode("latin-1"))
