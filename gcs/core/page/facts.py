"""From a document as written to the facts that are kept of a page: links become canonical, directives are heeded.

Gatherers, helpers and the gateway (for claims) all go through `facts_of`, so that a page means the same to each.
"""

from gcs.core.page.values import Document, PageFacts
from gcs.core.url.join import Joiner


def facts_of(
    document: Document, url: str, joiner: Joiner, *, heed: bool, noindex: bool = False, nofollow: bool = False
) -> PageFacts:
    """The facts of the page at this URL.

    `heed`: the crawl heeds robots directives; `noindex` and `nofollow`: those of the response's headers.
    """
    final_url, outlinks = url, list[str]()
    if not (heed and (nofollow or document.nofollow)):
        base = (document.base and _first(joiner, url, document.base)) or url
        hrefs = document.hrefs
        if document.canonical or document.refresh:
            final_url = (document.canonical and _first(joiner, base, document.canonical)) or url
            hrefs = [*filter(None, (document.refresh, document.canonical)), *hrefs]
        outlinks = joiner.join(base, hrefs)
    return PageFacts(
        final_url,
        document.title,
        document.description,
        document.language,
        document.text,
        document.simhash,
        outlinks,
        heed and (noindex or document.noindex),
        document.source,
        document.shell,
    )


def _first(joiner: Joiner, base: str, href: str) -> str | None:
    """One link as a canonical URL; None if it is none."""
    return next(iter(joiner.join(base, (href,))), None)
