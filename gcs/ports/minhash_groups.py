"""Pages that are nearly the same, by MinHash of their texts (rensa): slower than signatures, and surer.

A text is the set of its runs of five words. Two texts that share `SHARE` of these are alike: also pages of which a part
differs, such as a menu, which signatures keep apart; and no short texts, which signatures throw together.
"""

from gcs.core.search.words import words
from gcs.errors import UsageError

#: part of the runs of words that two texts share, at least
SHARE = 0.8
_RUN, _HASHES, _BANDS, _SEED = 5, 128, 16, 1
_MOST_WORDS = 50_000


class MinhashGroups:
    """Groups of texts; a group is the number of the first page in it."""

    def __init__(self) -> None:
        try:
            import rensa
        except ImportError as error:
            raise UsageError("MinHash needs rensa: pip install 'gcs-crawler[dedup]'") from error
        self._make = rensa.RMinHash
        self._index = rensa.RMinHashLSH(threshold=SHARE, num_perm=_HASHES, num_bands=_BANDS)
        self._kept: dict[int, object] = {}
        self._pages = 0

    def group_of(self, _signature: int, text: str) -> int:
        """The group of the next page; its own number, if it is like none before. A page without a text is like none."""
        number = self._pages
        self._pages += 1
        if not (runs := runs_of(text)):
            return number
        made = self._make(num_perm=_HASHES, seed=_SEED)
        made.update(runs)
        alike = [
            (share, -first) for first in self._index.query(made) if (share := made.jaccard(self._kept[first])) >= SHARE
        ]
        if alike:
            return -int(max(alike)[1])
        self._index.insert(number, made)
        self._kept[number] = made
        return number


def runs_of(text: str) -> list[str]:
    """Each run of words of a text once; all of a text that is shorter."""
    found = words(text)[:_MOST_WORDS]
    return list({" ".join(found[at : at + _RUN]) for at in range(max(len(found) - _RUN + 1, min(len(found), 1)))})
