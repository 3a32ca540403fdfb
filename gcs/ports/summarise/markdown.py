"""Markdown: pages that a server sends as text/markdown, files that end in .md, and llms.txt.

Links are followed as in HTML: inline ones and their definitions, <autolinks> and bare URLs; not those in code, nor
images. The first heading is the title; the document itself is the Markdown that is kept, and the text is the same
without marks. Front matter (YAML) is left out, but for its title and description.

An llms.txt (llmstxt.org) lists the pages that a site finds worth reading: a list of links for crawlers, and no page.
It is known by its name: `/llms.txt`, in whatever folder.

Invariant: linear time; never raises.
"""

import re
from collections.abc import Iterator

from gcs.core.page.language import detect
from gcs.core.page.simhash import simhash
from gcs.core.page.values import LINE_LENGTH, Document
from gcs.ports.summarise import Source
from gcs.ports.summarise.encoding import as_text

#: bytes of a document that are read: books in Markdown are shorter
_MOST_BYTES = 4 << 20
#: characters of a line that are looked at for links
_LINE_CHARS = 20_000
_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]++([^\n]{1,1000})")
_DEFINITION = re.compile(r" {0,3}\[[^\[\]]{1,300}\]:[ \t]{0,9}<?([^\s<>]{1,2000})")
#: [text](target "title"); a target may hold one pair of parentheses
_INLINE = re.compile(
    r"(!?)\[([^\[\]]{0,1000})\]\([ \t]{0,9}<?([^\s()<>]{1,2000}(?:\([^\s()<>]{0,300}\)[^\s()<>]{0,300})?)>?"
    r"(?:[ \t]{1,9}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?[ \t]{0,9}\)"
)
_AUTOLINK = re.compile(r"https?://[^\s<>\"'`)\]]{1,2000}", re.IGNORECASE)
_CODE = re.compile(r"`[^`]{1,2000}`")
_MARKS = re.compile(r"[*_~`]{1,3}")
_FRONT = re.compile(r"(title|description)[ \t]{0,9}:[ \t]{0,9}[\"']?([^\n]{1,1000})", re.IGNORECASE)
_FRONT_LINES = 100


def is_markdown_name(url: str) -> bool:
    """Whether a text at this URL is Markdown, whatever type its server gives it."""
    path = url.partition("?")[0].lower()
    return path.endswith((".md", ".markdown", "/llms.txt"))


def summarise_markdown(source: Source) -> Document:
    """The Document of a Markdown text."""
    options, is_list = source.options, source.url.partition("?")[0].lower().endswith("/llms.txt")
    content = as_text(source.content[:_MOST_BYTES], source.content_type).replace("\0", "")
    front, lines = _parted(content.splitlines())
    hrefs: list[str] = []
    for line in _outside_code(lines):
        hrefs += _links(line)
        if len(hrefs) >= options.max_links:
            break
    heading = next((match[1] for line in _outside_code(lines) if (match := _HEADING.match(line))), "")
    title = _plain(front.get("title") or heading).rstrip(" #")
    document = Document(
        hrefs=hrefs[: options.max_links],
        title=title[:LINE_LENGTH],
        description=front.get("description", "")[:LINE_LENGTH],
        source=is_list,
    )
    if source.depth == "links" or is_list:
        return document
    kept = "\n".join(lines).strip()
    is_cut = len(kept.encode("utf-8", "surrogatepass")) > options.max_text_bytes
    if is_cut:
        kept = kept.encode("utf-8", "surrogatepass")[: options.max_text_bytes].decode("utf-8", "ignore")
    text = "\n".join(map(_plain, kept.splitlines())).strip()
    return Document(
        hrefs=document.hrefs,
        title=document.title,
        description=document.description,
        language=detect(text),
        text=text,
        simhash=simhash(text) if text else 0,
        markdown=kept,
        text_cut=is_cut,
    )


def _parted(lines: list[str]) -> tuple[dict[str, str], list[str]]:
    """What the front matter says, and the lines behind it."""
    if not lines or lines[0].strip() != "---":
        return {}, lines
    for number, line in enumerate(lines[1:_FRONT_LINES], 1):
        if line.strip() in ("---", "..."):
            said = filter(None, map(_FRONT.match, lines[1:number]))
            return {each[1].lower(): each[2].strip().strip("\"'") for each in said}, lines[number + 1 :]
    return {}, lines


def _outside_code(lines: list[str]) -> Iterator[str]:
    """The lines that are not in a fenced block, without the code in them."""
    fence = ""
    for line in lines:
        if match := _FENCE.match(line):
            if not fence:
                fence = match[1]
            elif match[1] == fence:
                fence = ""
        elif not fence:
            yield _CODE.sub(" ", line[:_LINE_CHARS]) if "`" in line else line[:_LINE_CHARS]


def _links(line: str) -> Iterator[str]:
    if definition := _DEFINITION.match(line):
        yield definition[1]
        return
    if "](" in line:
        yield from (match[3] for match in _INLINE.finditer(line) if not match[1])
        line = _INLINE.sub(" ", line)
    if "://" in line:
        yield from (match[0].rstrip(".,;:!?*_") for match in _AUTOLINK.finditer(line))


def _plain(line: str) -> str:
    """A line without marks: what a reader sees."""
    if "](" in line:
        line = _INLINE.sub(lambda match: match[2], line[:_LINE_CHARS])
    heading = _HEADING.match(line)
    return _MARKS.sub("", heading[1].rstrip(" #") if heading else line).strip()
