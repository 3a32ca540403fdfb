"""The bytes of an answer: prose, body by kind of content, and the HTTP head around it.

Invariant: a pure function of the plan. The server adds nothing to these bytes but time and trouble.
"""

import gzip
import zlib
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from random import Random
from xml.sax.saxutils import escape

from gcs.fakeweb.markup import render_html
from gcs.fakeweb.page_plan import Content, Manner, PagePlan
from gcs.fakeweb.spec import mix, words

_TYPES = {
    Content.TEXT: "text/plain; charset=utf-8",
    Content.PDF: "application/pdf",
    Content.PNG: "image/png",
    Content.BYTES: "application/octet-stream",
    Content.RSS: "application/rss+xml",
    Content.ATOM: "application/atom+xml",
    Content.SITEMAP: "application/xml",
    Content.SITEMAP_INDEX: "application/xml",
    Content.ROBOTS: "text/plain",
}
#: a transparent pixel
_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02"
    "0000000b4944415478da6364f80f00010501012718e3660000000049454e44ae426082"
)
_SITEMAP_NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
_REASONS = {status.value: status.phrase for status in HTTPStatus}
_CHUNK = 4096
#: sentences of each language to draw from
_POOL = 1024
_ENGLISH = (
    "The {a} {n} of the {p} was {v} by the {n} before the {a} season came to an end.",
    "Nobody in the {p} knows why the {n} should be {v} again, but many people think that it will.",
    "When the {a} {n} is {v}, the {p} has more than enough room for another {n}.",
    "It took them three years to find out that the {n} near the {p} had been {v} all along.",
    "You can read more about this {a} {n} in the report which the {p} published last week.",
    "Although the {n} is {a}, it has never been {v} as often as the {n} of the {p}.",
    "They say that a {a} {n} and a {a} {n} are worth as much as the whole {p}.",
)
_ENGLISH_WORDS = {
    "a": words("quiet bright late small grand northern modern hidden common wide wooden broken famous careful"),
    "n": words("bridge market garden station letter window harbour library road museum engine storm voice map"),
    "p": words("city village council university valley old town company river bank school hospital"),
    "v": words("repaired opened described measured forgotten painted sold discussed visited closed moved"),
}
_FRENCH = (
    "Le {n} de la {p} a été {v} avant la fin de l'été, où tout le monde était déjà {a}.",
    "Personne ne sait pourquoi le {n} {a} devrait être {v} à nouveau près de la {p}.",
    "Après des années, on a découvert que le {n} était {v}, même si la {p} reste très {a}.",
    "Vous pouvez lire le récit complet du {n} {a} dans le journal publié par la {p}.",
)
_FRENCH_WORDS = {
    "a": words("tranquille célèbre étroit fidèle sévère immense léger"),
    "n": words("café marché théâtre musée château bâtiment fleuve"),
    "p": words("ville forêt vallée région mairie société province"),
    "v": words("réparé oublié mesuré décrit visité préféré"),
}


class Prose:
    """English and French sentences, so that language and main-text detection have something to find.

    Sentences are drawn once per web into a pool; a page draws its own from the pool, which is cheap and makes any two
    pages differ. Equal seeds and keys give equal text.
    """

    def __init__(self, seed: int) -> None:
        chance = Random(seed)
        self._english = [_sentence(chance, _ENGLISH, _ENGLISH_WORDS) for _ in range(_POOL)]
        self._french = [_sentence(chance, _FRENCH, _FRENCH_WORDS) for _ in range(_POOL)]

    def paragraphs(self, key: int, size_bytes: int, french: bool = False) -> list[str]:
        """Paragraphs of about that many bytes together, at least one."""
        pool = self._french if french else self._english
        count = max(2, size_bytes // 85)  # about the length of a sentence with its share of the tags
        chosen = Random(key).choices(pool, k=count)
        return [" ".join(chosen[at : at + 5]) for at in range(0, count, 5)]


def _sentence(chance: Random, patterns: tuple[str, ...], slots: dict[str, list[str]]) -> str:
    text = chance.choice(patterns)
    for slot, choices in slots.items():
        while f"{{{slot}}}" in text:
            text = text.replace(f"{{{slot}}}", chance.choice(choices), 1)
    return text


def render(plan: PagePlan, prose: Prose) -> bytes:
    """The body of an answer, before any content coding."""
    if plan.content in (Content.HTML, Content.SOUP, Content.FRAMESET):
        if plan.status >= 300:
            return f"<html><title>{plan.status}</title><h1>{_REASONS[plan.status]}</h1></html>\n".encode()
        # links and furniture take about 80 bytes each and 900 in all; the text takes the rest
        room = plan.size_bytes - 900 - 80 * len(plan.links)
        text = render_html(plan, prose.paragraphs(plan.text_key, room, plan.french))
        return (b"\xef\xbb\xbf" if plan.charset_by == "bom" else b"") + text.encode(plan.charset, "xmlcharrefreplace")
    if plan.content is Content.TEXT:
        return "\n\n".join(prose.paragraphs(plan.text_key, plan.size_bytes)).encode()
    if plan.content is Content.PDF:
        raw = " ".join(prose.paragraphs(plan.text_key, plan.size_bytes)).encode()
        return b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nstream\n" + zlib.compress(raw) + b"\nendstream\n%%EOF\n"
    if plan.content is Content.PNG:
        return _PIXEL
    if plan.content is Content.BYTES:
        return bytes(mix(plan.text_key, n) & 0xFF for n in range(plan.size_bytes))
    if plan.content is Content.ROBOTS:
        return plan.title.encode()
    xml = _xml(plan, [escape(link.target) for link in plan.links]).encode()
    return gzip.compress(xml, 6, mtime=0) if plan.url.endswith(".gz") else xml


def _xml(plan: PagePlan, urls: list[str]) -> str:
    start = '<?xml version="1.0" encoding="UTF-8"?>\n'
    if plan.content is Content.SITEMAP:
        rows = "".join(f"<url><loc>{url}</loc><lastmod>2024-01-01</lastmod></url>\n" for url in urls)
        return f'{start}<urlset xmlns="{_SITEMAP_NS}">\n{rows}</urlset>\n'
    if plan.content is Content.SITEMAP_INDEX:
        rows = "".join(f"<sitemap><loc>{url}</loc></sitemap>\n" for url in urls)
        return f'{start}<sitemapindex xmlns="{_SITEMAP_NS}">\n{rows}</sitemapindex>\n'
    if plan.content is Content.RSS:
        rows = "".join(f"<item><title>Item</title><link>{url}</link></item>\n" for url in urls)
        return f'{start}<rss version="2.0"><channel><title>News</title>\n{rows}</channel></rss>\n'
    rows = "".join(f'<entry><title>Item</title><link href="{url}"/></entry>\n' for url in urls)
    return f'{start}<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>\n{rows}</feed>\n'


def content_type(plan: PagePlan) -> str:
    if plan.url.endswith(".gz"):
        return "application/gzip"
    stated = _TYPES.get(plan.content)
    if stated:
        return stated
    return f"text/html; charset={plan.charset}" if plan.charset_by == "header" else "text/html"


def answer(plan: PagePlan, body: bytes, *, accepts: bytes = b"", location: str = "") -> bytes:
    """Head and framed body of an answer, content coding applied where the client accepts it."""
    coding = plan.coding if plan.coding.encode() in accepts else ""
    headers = [f"Content-Type: {content_type(plan)}"]
    if coding == "gzip":
        body = _bomb(plan.size_bytes) if plan.content is Content.ZEROS else gzip.compress(body, 1, mtime=0)
    elif coding == "deflate":
        body = zlib.compress(body, 1)
    if plan.manner is Manner.DAMAGED:
        coding, body = "gzip", b"\x1f\x8b\x08\x00 this is not gzip" + body[:100]
    if plan.coding:
        headers.append("Vary: Accept-Encoding")
    if coding:
        headers.append(f"Content-Encoding: {coding}")
    if location:
        headers.append(f"Location: {location}")
    directives = [name for name, by in (("noindex", plan.noindex), ("nofollow", plan.nofollow)) if by == "header"]
    if directives:
        headers.append(f"X-Robots-Tag: {', '.join(directives)}")
    if plan.transfer == "chunked":
        headers.append("Transfer-Encoding: chunked")
        body = b"".join(chunk(body[at : at + _CHUNK]) for at in range(0, len(body), _CHUNK)) + chunk(b"")
    elif plan.transfer == "close":
        headers.append("Connection: close")
    else:
        headers.append(f"Content-Length: {len(body)}")
    return head(plan.status, *headers, *validators(plan)) + body


def head(status: int, *headers: str) -> bytes:
    """Status line and headers."""
    lines = "\r\n".join((f"HTTP/1.1 {status} {_REASONS[status]}", "Server: fakeweb", *headers))
    return f"{lines}\r\n\r\n".encode("latin-1")


def validators(plan: PagePlan) -> list[str]:
    """The headers by which a client asks again."""
    found = [f"ETag: {plan.etag}"] if plan.etag else []
    return [*found, f"Last-Modified: {formatdate(plan.modified_s, usegmt=True)}"] if plan.modified_s else found


def chunk(piece: bytes) -> bytes:
    """One chunk of a chunked body; the empty piece ends it."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


@lru_cache(maxsize=2)
def _bomb(size_bytes: int) -> bytes:
    """Zeros, compressed a thousandfold, without ever holding them all."""
    packer = zlib.compressobj(9, wbits=31)
    block = bytes(1 << 20)
    return b"".join(packer.compress(block) for _ in range(size_bytes >> 20)) + packer.flush()
