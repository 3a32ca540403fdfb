"""Archives: the documents inside, each read by the summariser of its own format, told as one.

An archive is one page of the crawl: its text is the members' texts under their names, its links are their absolute ones
(a relative link inside an archive leads nowhere on the web). Archives inside of archives are passed over.

Invariant: what is read is bounded by `LIMITS` and by the options, whatever the archive holds.
"""

from collections.abc import Callable

from gcs.core.page import Document
from gcs.core.simhash import simhash
from gcs.ports.summarise.expand import Limits, Member, members
from gcs.ports.summarise.options import Options

#: smaller than the expander's own: this is read while other pages wait
LIMITS = Limits(members=500, member_bytes=4 << 20, total_bytes=16 << 20)


def summarise_archive(content: bytes, options: Options, read: Callable[[Member], Document]) -> Document:
    """The Document of an archive; `read` makes that of a member."""
    texts: list[str] = []
    hrefs: list[str] = []
    room, title, language = options.max_text_bytes, "", ""
    for member in members(content, LIMITS):
        document = read(member)
        title = title or document.title
        language = language or document.language
        if not document.nofollow:
            hrefs += [href for href in document.hrefs if href.startswith(("http://", "https://"))]
        if document.text and room > 0 and not document.noindex:
            texts.append(f"{member.name}\n{document.text}"[:room])
            room -= len(texts[-1])
    text = "\n\n".join(texts)
    kept = hrefs[: options.max_links]
    return Document(hrefs=kept, title=title, language=language, text=text, simhash=simhash(text) if text else 0)
