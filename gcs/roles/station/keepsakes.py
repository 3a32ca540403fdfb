"""Keepsakes: the last bulletins of gatherers that have gone, so that what they did does not vanish from the page.

A bulletin hangs for half a minute, and a station is read after the end of a crawl, too. What one that has gone says of
the URL tree is kept only while nobody is at work: others own its part otherwise, and show it themselves.

Invariant: a gatherer that is at work is shown as it shows itself; a crawl that begins anew begins with nothing kept.
"""

import dataclasses

import msgspec

from gcs.core.tuples import Bulletin, CrawlState
from gcs.roles.station.board import Board

_OVER = frozenset({CrawlState.DONE, CrawlState.STOPPING})


class Keepsakes:
    """filled by: each look; emptied by: the beginning of a crawl."""

    def __init__(self) -> None:
        self._bulletins: dict[str, Bulletin] = {}
        self._was_over = False

    def complete(self, board: Board) -> Board:
        """The board, with what no longer hangs there."""
        is_over = board.control is None or board.control.state in _OVER
        if self._was_over and not is_over:
            self._bulletins.clear()
        self._was_over = is_over
        self._bulletins |= {bulletin.gatherer: bulletin for bulletin in board.bulletins}
        shown = {bulletin.gatherer for bulletin in board.bulletins}
        anybody = bool(board.at_work)
        kept = [
            msgspec.structs.replace(bulletin, patches=[]) if anybody else bulletin
            for name, bulletin in self._bulletins.items()
            if name not in shown
        ]
        return dataclasses.replace(board, bulletins=(*board.bulletins, *kept))
