"""The queued URL: what the frontier keeps of a URL that waits to be fetched, and what gatherers hand over of it."""

import msgspec

#: what each step from a page to what it needs (its requisites) adds to the depth, which is that of the page
STEP = 1 << 24


def needed(depth: int, level: int) -> int:
    """The depth in an entry for what a page of this depth needs; `level`: 1 for its style sheets, 2 for their fonts."""
    return depth + level * STEP


def level_of(depth: int) -> int:
    """How many steps lie between a page and what it needs; 0 for a page."""
    return max(depth, 0) // STEP


def priority_of(depth: int) -> int:
    """The priority of a link, breadth first. What a page needs goes before all other pages: so an archive is whole."""
    return 0 if depth >= STEP else depth


class QueuedUrl(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A URL that waits to be fetched. `url` is canonical; its sort key is computed where it is needed."""

    url: str
    parent: str = ""
    #: links from a seed; of what a page needs, see `needed`
    depth: int = 0
    #: smaller goes first
    priority: int = 0
    #: requests made so far
    tries: int = 0
    #: redirects that led here in a row
    hops: int = 0
    #: validators of the copy that an earlier visit stored
    etag: str = ""
    last_modified: str = ""
    #: that copy: digest of its payload, and when it was fetched (microseconds since the epoch)
    copy_digest: str = ""
    copy_at_us: int = 0
    #: sessions that have asked for it, found it changed, and (the last ones in a row) found no page
    visits: int = 0
    changes: int = 0
    misses: int = 0
    #: its back-links or cash (see `core.ordering`); last, so that it can be read and changed at the end of a row
    worth: float = 0.0

    @property
    def is_seed(self) -> bool:
        """Whether no page is known to link to it."""
        return not self.parent and self.depth == 0
