"""Answers questions that hang on the whiteboard of a crawl, from the index of one directory.

Invariants
- Bounded: some questions at a time, pages of an answer, and the length of a query (see `core.search.query`).
- Every question gets an answer while there is a whiteboard: an empty one, if the index cannot be searched.
"""

import asyncio
from contextlib import suppress
from pathlib import Path

import msgspec

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Librarian, Question, SearchAnswer
from gcs.core.search.query import parse, phrases
from gcs.core.search.results import Asked, EngineAnswer
from gcs.core.search.snippet import snippet
from gcs.errors import GcsError, SpaceError, UsageError
from gcs.events import Events
from gcs.ports.search.find_pages import IndexView
from gcs.ports.search.index_place import index_of
from gcs.ports.search.team_search import MOST_CANDIDATES, PATIENCE_S
from gcs.ports.space.port import Space
from gcs.ports.system.tasks import end, repeat

#: seconds between two signs of life, and for which one holds
BEAT_S, ALIVE_S = 3.0, 10.0
#: seconds between two tries to follow the questions
_AGAIN_S = 1.0
#: searches at a time, and questions that may wait for their turn
_SEARCHES, _MOST_QUESTIONS = 2, 16

events = Events("librarian")


class KeptIndex:
    """The librarian of one directory."""

    def __init__(self, space: Space, place: Path) -> None:
        self._space, self._place = space, place
        self._turns = asyncio.Semaphore(_SEARCHES)
        self._answering: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Answer until it is cancelled."""
        work = (repeat(self._beat, BEAT_S, events, "beat"), repeat(self._follow, _AGAIN_S, events, "questions"))
        tasks: list[asyncio.Task[None]] = [asyncio.ensure_future(each) for each in work]
        try:
            await asyncio.gather(*tasks)
        finally:
            await end([*tasks, *self._answering])
            with suppress(SpaceError, TimeoutError):
                async with asyncio.timeout(BEAT_S):
                    await self._space.take(template(Librarian, librarian=self._space.name))

    async def _beat(self) -> None:
        await self._space.out(Librarian(self._space.name), ttl_s=ALIVE_S)

    async def _follow(self) -> None:
        async for question in self._space.watch(template(Question)):
            if len(self._answering) < _SEARCHES + _MOST_QUESTIONS:
                task = asyncio.create_task(self._answer(question))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
            else:
                events.warning("too-many-questions", waiting=len(self._answering))
                await self._tell(question, b"")

    async def _answer(self, question: Question) -> None:
        found = b""
        try:
            async with self._turns:
                found = msgspec.msgpack.encode(await asyncio.to_thread(self._find, question))
        except GcsError as error:
            events.warning("no-answer", reason=str(error))
        await self._tell(question, found)

    async def _tell(self, question: Question, found: bytes) -> None:
        with suppress(SpaceError):  # who asked does not wait any more
            await self._space.out(SearchAnswer(question.id, self._space.name, found), ttl_s=PATIENCE_S)

    def _find(self, question: Question) -> EngineAnswer:
        if index_of(self._place) is None:  # not yet: to look at all pages would hold everybody up
            raise UsageError(f"{self._place} has no index yet: gcs index {self._place}")
        node = parse(question.query)
        most = min(max(question.most, 1), MOST_CANDIDATES)
        found = IndexView(str(self._place)).answer(Asked(node, most, fold=False, facets=question.facets))
        wanted = list(phrases(node))
        best = [
            msgspec.structs.replace(
                each, page=msgspec.structs.replace(each.page, text=""), excerpt=snippet(each.page.text, wanted)
            )
            for each in found.best
        ]
        return msgspec.structs.replace(found, best=best)
