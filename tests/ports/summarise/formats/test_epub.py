"""Books, made by ebooklib."""

import io

from ebooklib import epub

from gcs.ports.reader import Summarisers
from tests.packages import bears_damage

summarise = Summarisers().summarise


def book() -> bytes:
    made = epub.EpubBook()
    made.set_title("The Long Shore")
    made.set_language("en")
    made.add_author("Ada Marsh")
    chapters = []
    for number, words in enumerate(("The gulls cried over the long shore all morning.", "In the evening it rained.")):
        chapter = epub.EpubHtml(title=f"{number}", file_name=f"c{number}.xhtml", lang="en")
        chapter.content = (
            f"<h1>Chapter {number}</h1><p>{words}</p><p><a href='https://shore.example/{number}'>x</a></p>"
        )
        made.add_item(chapter)
        chapters.append(chapter)
    made.spine = list(reversed(chapters))  # the order of reading is not that of the files
    made.add_item(epub.EpubNcx())
    out = io.BytesIO()
    epub.write_epub(out, made)
    return out.getvalue()


def test_epub_has_its_chapters_in_the_order_of_reading() -> None:
    for content_type in ("application/epub+zip", "application/octet-stream", "application/zip"):
        document = summarise(book(), content_type, "http://x/a.epub", "fast")
        assert (document.title, document.language) == ("The Long Shore", "en")
        assert document.text.index("it rained") < document.text.index("gulls cried")
        assert document.hrefs == ["https://shore.example/1", "https://shore.example/0"]


def test_epub_bears_damage() -> None:
    bears_damage(book(), "application/epub+zip")
