"""The reader: what a response means. Recogniser, summariser and link joiner in one place, for gatherers and helpers.

A response in, its PageFacts out. The reader decides nothing about the crawl and keeps nothing but the joiner's memo.
"""

import re
from collections.abc import Iterable

import msgspec

from gcs.core.page.facts import facts_of
from gcs.core.page.recognise import is_shell
from gcs.core.page.values import PageFacts, Response
from gcs.core.url.canonical import UrlRules
from gcs.core.url.join import Joiner
from gcs.ports.summarise import Depth, Options
from gcs.ports.summarise.summarisers import Summarisers
from gcs.ports.summarise.text_pool import TextPool

#: sentences taken from the text where the page does not describe itself
_SENTENCES = 3
#: letters of a gist at most
_LETTERS = 400
#: shorter lines are headings, dates, bylines and crumbs
_LINE_LETTERS = 40
_SENTENCE = re.compile(r".+?(?:[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？]+|$)", re.S)


class Reader:
    """Reads responses for one gatherer or helper."""

    def __init__(
        self,
        urls: UrlRules,
        registry: Summarisers,
        options: Options,
        depth: Depth,
        heed: bool,
        texts: TextPool | None = None,
    ) -> None:
        self._joiner = Joiner(urls)
        self._registry = registry
        self._options, self._heed = options, heed
        self._depth: Depth = "links" if texts else depth
        #: processes that extract the text, where that takes longer than the loop can wait
        self.texts = texts

    def read(self, response: Response) -> PageFacts:
        """The content of a 2xx response."""
        content_type, url = response.header("content-type") or "", response.request.url
        document = self._registry.summarise(response.content, content_type, url, self._depth, self._options)
        noindex, nofollow = _header_directives(response, self._options.agent)
        facts = facts_of(document, url, self._joiner, heed=self._heed, noindex=noindex, nofollow=nofollow)
        if not document.source and is_shell(response.content, content_type, len(document.hrefs)):
            return msgspec.structs.replace(facts, shell=True)  # noqa: S604 (a page that is an empty shell)
        return facts

    def redirect_target(self, response: Response) -> str | None:
        """Where a 3xx response points, canonical; None if nowhere that can be crawled."""
        location = response.header("location")
        return self._first(response.request.url, location) if location else None

    def join(self, base: str, hrefs: Iterable[str]) -> list[str]:
        """Links of a page or a robots.txt, canonical under the settings of this crawl."""
        return self._joiner.join(base, hrefs)

    def _first(self, base: str, href: str) -> str | None:
        """One link as a canonical URL; None if it is none."""
        return next(iter(self._joiner.join(base, (href,))), None)

    async def read_text(self, response: Response, facts: PageFacts) -> PageFacts:
        """The same facts with the text that the pool finds."""
        assert self.texts
        content_type = response.header("content-type") or ""
        extract = await self.texts.submit(response.content, content_type, response.request.url)
        language = facts.language or extract.language
        return msgspec.structs.replace(facts, text=extract.text, language=language, simhash=extract.simhash)


def _header_directives(response: Response, agent: str) -> tuple[bool, bool]:
    """(noindex, nofollow) of the X-Robots-Tag headers that speak to everybody or to us."""
    noindex = nofollow = False
    for name, value in response.headers:
        if len(name) == 12 and name.lower() == "x-robots-tag":
            words = value.lower()
            addressee, colon, rest = words.partition(":")
            if colon and "," not in addressee and addressee.strip() not in ("unavailable_after", "max-snippet"):
                if addressee.strip() != agent:
                    continue
                words = rest
            directives = {word.strip() for word in words.split(",")}
            noindex |= bool(directives & {"noindex", "none"})
            nofollow |= bool(directives & {"nofollow", "none"})
    return noindex, nofollow


def gist(facts: PageFacts) -> str:
    """A page in a sentence or three, for people: what it says of itself, or the first sentences of its text."""
    if facts.description:
        return clipped(facts.description)
    text = facts.text
    sentences: list[str] = []
    letters = 0
    for line in text[: 20 * _LETTERS].splitlines():
        if len(line) < _LINE_LETTERS:
            continue
        for match in _SENTENCE.finditer(" ".join(line[: 4 * _LETTERS].split())):
            sentences.append(match[0].strip())
            letters += len(match[0])
            if len(sentences) == _SENTENCES or letters > _LETTERS:
                return clipped(" ".join(sentences))
    return clipped(" ".join(sentences) or " ".join(text[:_LETTERS].split()))


def clipped(text: str, most: int = _LETTERS) -> str:
    """The text, cut at the end of a word if it is too long."""
    if len(text) <= most:
        return text
    cut = text[:most]
    return (cut[: cut.rfind(" ")] if " " in cut else cut) + "…"
