"""Search over the whiteboard: a question to all librarians of a crawl, each of whom answers from its own index.

Nobody needs the others' disks: excerpts travel, texts do not. Who does not answer in time is named; the others' pages
are shown. Scores are compared as they are, though each index counts how rare a word is among its own pages.
"""

import asyncio
import contextlib
import uuid

import msgspec

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Librarian, Question, SearchAnswer
from gcs.core.search.results import Asked, EngineAnswer, SearchResults, present
from gcs.errors import SpaceError, UsageError
from gcs.ports.space.port import Space

#: seconds for the answers
PATIENCE_S = 10.0
#: pages that may be asked for, and the pages of one answer
MOST_PAGES, MOST_CANDIDATES = 100, 320
#: bytes of an answer
MOST_BYTES = 4 << 20
_ANSWERS = msgspec.msgpack.Decoder(EngineAnswer)


class NoLibrarianError(UsageError):
    """Nobody answers searches at this whiteboard."""


async def ask_team(space: Space, asked: Asked, query: str, patience_s: float = PATIENCE_S) -> SearchResults:
    """The best pages of all indexes of a crawl; `query` is what `asked` was parsed from."""
    if asked.skip + asked.most > MOST_PAGES:
        raise UsageError(f"a search of a team shows the best {MOST_PAGES} pages: ask for less")
    librarians = {each.librarian for each in await space.scan(template(Librarian))}
    if not librarians:
        raise NoLibrarianError("no gatherer of this crawl answers searches: start them with --index, or gcs librarian")
    question = Question(uuid.uuid4().hex, query, asked.window, asked.facets)
    answers: dict[str, EngineAnswer | None] = {}
    await space.out(question, ttl_s=patience_s)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(patience_s):
            async for answer in space.watch(template(SearchAnswer, question=question.id)):
                answers[answer.librarian] = _read(answer)
                if librarians <= answers.keys():
                    break
    found = [each for _, each in sorted(answers.items()) if each is not None]
    missing = sorted(librarians - {name for name, each in answers.items() if each is not None})
    if not found:
        raise SpaceError(f"no index of the team answered within {patience_s:g} s: {', '.join(missing)}")
    return msgspec.structs.replace(present(asked, found), missing=missing)


def _read(answer: SearchAnswer) -> EngineAnswer | None:
    if not answer.found or len(answer.found) > MOST_BYTES:
        return None
    try:
        return _ANSWERS.decode(answer.found)
    except msgspec.DecodeError:
        return None
