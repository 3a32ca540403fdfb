"""AI preferences: what a site says about the use of its pages by machines, in the words of four conventions.

    Content-Usage      IETF: draft-ietf-aipref-vocab-05 and draft-ietf-aipref-attach-04, in robots.txt (perhaps with a
                       path) and as a header: `train-ai=n`, `search=y`; of older drafts also `bots` and `train-genai`
    Content-Signal     contentsignals.org (2025), in the same places: `search=yes, ai-input=no, ai-train=no`
    noai, noimageai    in X-Robots-Tag and <meta name="robots">: no training; the latter of images
    tdm-reservation    TDMRep (W3C community group report of 2024), as header and <meta>: 1 reserves text and data
                       mining, read here as ai-input and ai-train. The file /.well-known/tdmrep.json is not read

A crawl has a purpose: search, ai-input or ai-train. A statement reserves a purpose, allows it or says nothing of it.
Where statements differ, the site has reserved the purpose.

Invariant: pure; whatever a stranger writes is a statement or nothing, and reading it takes linear time.
"""

import re
from collections.abc import Iterable, Iterator

#: what a crawl may be for
PURPOSES = ("search", "ai-input", "ai-train")
#: statements of one page that are read and kept, and characters of each
MOST_STATEMENTS, STATEMENT_LENGTH = 20, 500

#: word → the purposes that it speaks of
_CATEGORIES: dict[str, tuple[str, ...]] = {
    "bots": PURPOSES,
    "search": ("search",),
    "train-ai": ("ai-train",),
    "train-genai": ("ai-train",),
    "ai-train": ("ai-train",),
    "ai-input": ("ai-input",),
}
_ANSWERS = {"y": True, "yes": True, "?1": True, "1": True, "n": False, "no": False, "?0": False, "0": False}
_HEADERS = ("content-usage", "content-signal", "tdm-reservation")
#: bytes of a page in which its <meta> are looked for, if its head is not over before
_HEAD_BYTES = 1 << 16
_META = re.compile(rb"<meta\s([^<>]{1,500})>", re.IGNORECASE)
#: bytes of a <meta> at most
_META_BYTES = len("<meta ") + 500 + len(">")
_ATTRIBUTE = re.compile(
    rb"(name|content)\s{0,4}=\s{0,4}(?:\"([^\"]{0,400})\"|'([^']{0,400})'|([^\s\"'>]{1,400}))", re.I
)


def statement(convention: str, text: str) -> str:
    """One line that says who says what: "Content-Usage: train-ai=n"."""
    return " ".join(f"{convention}: {text}".split())[:STATEMENT_LENGTH]


def of_headers(headers: Iterable[tuple[str, str]], agent: str) -> Iterator[str]:
    """The statements in the headers of an answer, as far as they speak to everybody or to us."""
    for name, value in headers:
        lower = name.lower()
        if lower in _HEADERS:
            yield statement(name, value)
        elif lower == "x-robots-tag" and "noai" in value.lower() + value.lower().replace("noimageai", "noai"):
            addressee, colon, rest = value.partition(":")
            if not colon or "," in addressee or addressee.strip().lower() in (agent, "unavailable_after"):
                yield statement(name, rest if colon and "," not in addressee else value)


def of_page(content: bytes) -> Iterator[str]:
    """The statements in the <meta> elements in the head of an HTML page."""
    end = content.find(b"</head", 0, _HEAD_BYTES)
    head = content[: end if end > 0 else _HEAD_BYTES]
    lower = head.lower()
    lower = lower[: lower.rfind(b"<meta") + _META_BYTES]  # far less to search than the whole page
    if b"noai" not in lower and b"noimageai" not in lower and b"tdm-reservation" not in lower:
        return
    for meta in _META.finditer(head):
        said = {each[1].lower(): each[2] or each[3] or each[4] or b"" for each in _ATTRIBUTE.finditer(meta[1])}
        name, value = (said.get(key, b"").decode("latin-1") for key in (b"name", b"content"))
        if name.lower() == "tdm-reservation" or (name.lower() == "robots" and "ai" in value.lower()):
            yield statement(f"meta {name}", value)


def preferences(statements: Iterable[str], is_image: bool = False) -> dict[str, bool]:
    """What the statements come to: purpose → allowed; a purpose that is not there was not spoken of."""
    found: dict[str, bool] = {}
    for line in statements:
        convention, _, text = line.partition(":")
        for purpose, allowed in _said(convention.lower().removeprefix("meta ").strip(), text.lower(), is_image):
            found[purpose] = found.get(purpose, True) and allowed
    return found


def _said(convention: str, text: str, is_image: bool) -> Iterator[tuple[str, bool]]:
    if convention == "tdm-reservation":
        if text.strip() == "1":
            yield from (("ai-input", False), ("ai-train", False))
        return
    for word in text.split(","):
        name, _, value = word.strip().partition("=")
        if convention in ("x-robots-tag", "robots"):
            if name == "noai" or (name == "noimageai" and is_image):
                yield "ai-train", False
        elif (allowed := _ANSWERS.get(value.partition(";")[0].strip())) is not None:
            yield from ((purpose, allowed) for purpose in _CATEGORIES.get(name.strip(), ()))


def column(found: dict[str, bool]) -> str:
    """As a record keeps it: "search=y ai-train=n"; "" for nothing."""
    return " ".join(f"{purpose}={'y' if found[purpose] else 'n'}" for purpose in PURPOSES if purpose in found)
