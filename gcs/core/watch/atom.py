"""The matches of a profile as an Atom feed (RFC 4287)."""

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from gcs.core.watch.profile import Match

#: what XML 1.0 cannot hold
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def atom_feed(profile: str, crawl: str, matches: Sequence[Match], times: Sequence[str], now: str) -> bytes:
    """The feed; `matches` the newest first, `times` when each was fetched (RFC 3339), `now` if there are none."""
    entries = "".join(_entry(match, time) for match, time in zip(matches, times))
    feed = (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<id>urn:gcs:{_text(crawl)}:{_text(profile)}</id>\n<title>{_text(profile)}</title>\n"
        f"<updated>{max(times, default=now)}</updated>\n<author><name>GCS</name></author>\n{entries}</feed>\n"
    )
    return feed.encode("utf-8", "replace")


def _entry(match: Match, time: str) -> str:
    told = f"{match.excerpt}\n\n{match.diff}".strip()
    return (
        f"<entry><id>urn:gcs:match:{_text(match.id)}</id><title>{_text(match.title or match.url)}</title>"
        f"<link href={quoteattr(_FORBIDDEN.sub('', match.url))}/><updated>{time}</updated>"
        f'<category term={quoteattr(match.event)}/><content type="text">{_text(told)}</content></entry>\n'
    )


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("", text))
