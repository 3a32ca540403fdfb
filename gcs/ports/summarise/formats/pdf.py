"""PDF, by PDFium: title, text page after page, the links of the pages. An encrypted file says nothing.

PDFium is the reader of Chromium, in C++: docs/measurements.md has what it does beside pypdf. It runs in a process of
the text pool, like all formats: what kills it, or takes it too long, costs one document.
"""

import ctypes
from collections.abc import Iterator
from typing import Any

from gcs.core.page.values import Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.formats import described, document_of

#: pages that are read, links of a page, bytes of a link
_MAX_PAGES, _MAX_LINKS, _URL_BYTES = 2_000, 2_000, 4_096


def summarise_pdf(source: Source) -> Document:
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(source.content)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            return Document()
        raise
    try:
        hrefs: list[str] = []
        room = source.options.max_text_bytes if source.depth != "links" else 0
        lines: list[str] = []
        for number in range(min(len(pdf), _MAX_PAGES)):
            page = pdf[number]
            try:
                if room > 0:
                    lines += _lines(page)
                    room -= len(lines[-1]) if lines else 0
                hrefs += _links(pdf, page)
            finally:
                page.close()
            if len(hrefs) >= source.options.max_links:
                break
        about = pdf.get_metadata_dict()
        pages = f"{len(pdf):,} pages" if len(pdf) != 1 else "1 page"
        return document_of(
            source,
            lines,
            hrefs,
            title=about.get("Title", ""),
            description=about.get("Subject", "") or described("PDF document", pages),
        )
    finally:
        pdf.close()


def _lines(page: Any) -> list[str]:
    text_page = page.get_textpage()
    try:
        return ["\n".join(text_page.get_text_bounded(errors="replace").splitlines())]
    finally:
        text_page.close()


def _links(pdf: Any, page: Any) -> Iterator[str]:
    """The addresses that the link annotations of a page lead to."""
    import pypdfium2.raw as pdfium

    position, link = ctypes.c_int(0), pdfium.FPDF_LINK()
    for _ in range(_MAX_LINKS):
        if not pdfium.FPDFLink_Enumerate(page, position, link):
            return
        action = pdfium.FPDFLink_GetAction(link)
        size_bytes = pdfium.FPDFAction_GetURIPath(pdf, action, None, 0) if action else 0
        if 1 < size_bytes <= _URL_BYTES:
            buffer = ctypes.create_string_buffer(size_bytes)
            pdfium.FPDFAction_GetURIPath(pdf, action, buffer, size_bytes)
            yield buffer.value.decode("utf-8", "replace")
