"""What a stored page is to the profiles: from a record and what the page said before, the matches.

Invariant: pure, and the same for the same input: a page that comes again makes matches with the same ids.
"""

from collections.abc import Iterator, Mapping

import xxhash

from gcs.core.page.values import PageRecord
from gcs.core.search.query import parse, phrases
from gcs.core.search.searchable import Searchable
from gcs.core.search.snippet import snippet
from gcs.core.watch.profile import CHANGED, EVENTS, GONE, Match, Profile
from gcs.core.watch.profile_index import ProfileIndex
from gcs.core.watch.text_change import TextChange, text_change

_NO_CHANGE = TextChange(0, 0, "")


class Profiles:
    """The profiles of a crawl, ready to be matched."""

    def __init__(self) -> None:
        self._index = ProfileIndex()
        self._by_name: Mapping[str, Profile] = {}
        #: some profile asks what a page said before
        self.needs_past = False

    def __len__(self) -> int:
        return len(self._by_name)

    def replace(self, profiles: list[Profile]) -> None:
        """Take these profiles in the place of all that were there."""
        wanted = {profile.name: profile for profile in profiles}
        for name in self._by_name.keys() - wanted.keys():
            self._index.remove(name)
        for name, profile in wanted.items():
            if name not in self._by_name or self._by_name[name].query != profile.query:
                self._index.add(name, profile.query)
        self._by_name = wanted
        self.needs_past = any(profile.needs_past for profile in profiles)

    def matches(self, record: PageRecord, page: Searchable, past: Searchable | None) -> Iterator[Match]:
        """The matches of a record; `past` is what the page said before, where that is known."""
        event = record.change
        if event not in EVENTS:
            return
        names = set() if event == GONE else set(self._index.matching(page))
        if past is not None and event != "new":
            names |= {name for name in self._index.matching(past) if self._by_name[name].needs_past}
        wanted = [self._by_name[name] for name in sorted(names) if event in self._by_name[name].on]
        if not wanted:
            return
        change = _NO_CHANGE
        if event == CHANGED and past is not None and any(profile.needs_past for profile in wanted):
            change = text_change(past.text, page.text, any(profile.with_diff for profile in wanted))
        shown = past if event == GONE and past is not None else page
        for profile in wanted:
            if event == CHANGED and change.words_added + change.words_removed < profile.least_words:
                continue
            yield _match(profile, record, shown, change if profile.needs_past else _NO_CHANGE)


def match_id(profile: str, record: PageRecord) -> str:
    """The id of a match; it is the same when the page comes again."""
    text = f"{profile} {record.session} {record.url}"
    return xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass"))


def _match(profile: Profile, record: PageRecord, page: Searchable, change: TextChange) -> Match:
    return Match(
        match_id(profile.name, record),
        profile.name,
        record.change,
        record.url,
        page.title,
        snippet(page.text, list(phrases(parse(profile.query)))).text,
        page.lang,
        record.session,
        record.fetched_at,
        change.words_added,
        change.words_removed,
        change.diff if profile.with_diff else "",
    )
