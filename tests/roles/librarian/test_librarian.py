"""A question on the whiteboard: every index answers it, nobody waits for one that is gone, and no text travels."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Librarian, Question, SearchAnswer
from gcs.core.search.query import parse
from gcs.core.search.results import Asked, EngineAnswer, SearchResults
from gcs.core.search.searchable import Searchable
from gcs.errors import SpaceError, UsageError
from gcs.ports.search.index_place import make_index
from gcs.ports.search.team_search import MOST_CANDIDATES, MOST_PAGES, NoLibrarianError, ask_team
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.ports.system.tasks import end
from gcs.roles.librarian import librarian
from gcs.roles.librarian.librarian import KeptIndex

#: behind the words that are asked for, far from the excerpt
TAIL = f"{'filler ' * 400} secret"


def index(place: Path, *numbers: int, text: str = f"red page {TAIL}") -> Path:
    engine = make_index(place / "index", "sqlite")
    pages = [
        Searchable(f"http://{place.name}.example/{number}", f"{place.name}.example", "", text) for number in numbers
    ]
    engine.write(pages, [], {})
    engine.close()
    return place


@asynccontextmanager
async def librarians(board: MemoryBoard, *places: Path) -> AsyncIterator[MemorySpace]:
    """A librarian for each directory; gives the space of somebody who asks."""
    running = [asyncio.create_task(KeptIndex(MemorySpace(board, each.name), each).run()) for each in places]
    user = MemorySpace(board, "user")
    try:
        while await user.count(template(Librarian)) < len(places):
            await asyncio.sleep(0)
        yield user
    finally:
        await end(running)


async def ask(space: MemorySpace, query: str, most: int = 10, patience_s: float = 30.0) -> SearchResults:
    return await ask_team(space, Asked(parse(query), most, fold=False), query, patience_s)


async def test_all_indexes_answer_together(tmp_path: Path) -> None:
    places = index(tmp_path / "a", 1, 2), index(tmp_path / "b", 3)
    async with librarians(MemoryBoard(), *places) as user:
        told = await ask(user, "red")
        assert told.found == 3 and not told.missing
        assert {hit.url for hit in told.pages} == {
            f"http://{each}" for each in ("a.example/1", "a.example/2", "b.example/3")
        }
        assert {value.value: value.pages for value in told.facets["site"]} == {"a.example": 2, "b.example": 1}
        begin, stop = told.pages[0].marks[0]
        assert told.pages[0].excerpt[begin:stop] == "red"
        assert len((await ask(user, "red", most=1)).pages) == 1
        assert (await ask(user, "red site:b.example")).found == 1


async def test_texts_stay_where_they_are(tmp_path: Path) -> None:
    async with librarians(MemoryBoard(), index(tmp_path / "a", 1)) as user:
        await ask(user, "red")
        answer = await user.read(template(SearchAnswer))
        assert answer and b"red page" in answer.found and b"secret" not in answer.found


async def test_who_does_not_answer_is_named_and_holds_nobody_up(tmp_path: Path) -> None:
    async with librarians(MemoryBoard(), index(tmp_path / "a", 1), tmp_path / "empty") as user:
        told = await ask(user, "red")  # the second one says that it has no index
        assert told.found == 1 and told.missing == ["empty"]
        await user.out(Librarian("gone"))
        told = await ask(user, "red", patience_s=0.5)
        assert told.found == 1 and told.missing == ["empty", "gone"]


async def test_one_question_too_many_is_answered_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty, so that who asked need not wait: the index counts as one that did not answer."""
    monkeypatch.setattr(librarian, "_SEARCHES", 0)
    monkeypatch.setattr(librarian, "_MOST_QUESTIONS", 0)
    async with librarians(MemoryBoard(), index(tmp_path / "a", 1)) as user:
        with pytest.raises(SpaceError):
            await ask(user, "red", patience_s=1e6)


async def test_nobody_answers(tmp_path: Path) -> None:
    board = MemoryBoard()
    async with librarians(board, index(tmp_path / "a", 1)) as user:
        pass
    with pytest.raises(NoLibrarianError, match="--index"):  # it has said that it leaves
        await ask(user, "red")
    await user.out(Librarian("gone"))
    with pytest.raises(SpaceError, match="gone"):
        await ask(user, "red", patience_s=0.05)


async def test_question_that_is_none_does_no_harm(tmp_path: Path) -> None:
    async with librarians(MemoryBoard(), index(tmp_path / "a", *range(MOST_CANDIDATES + 5), text="red")) as user:
        for number, (query, most) in enumerate((('"', 5), ("x" * 5_000, 5), ("red", -3), ("red", 1 << 40))):
            await user.out(Question(str(number), query, most))
        answers = {}
        async for each in user.watch(template(SearchAnswer)):
            answers[each.question] = msgspec.msgpack.decode(each.found, type=EngineAnswer) if each.found else None
            if len(answers) == 4:
                break
        assert answers["0"] is None and answers["1"] is None
        small, large = answers["2"], answers["3"]
        assert small and len(small.best) == 1 and large and len(large.best) == MOST_CANDIDATES
        assert (await ask(user, "red")).found == MOST_CANDIDATES + 5


async def test_damaged_or_endless_answers_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with librarians(MemoryBoard(), index(tmp_path / "a", 1)) as user:
        monkeypatch.setattr("gcs.ports.search.team_search.MOST_BYTES", 10)
        with pytest.raises(SpaceError):
            await ask(user, "red")
        monkeypatch.undo()
        monkeypatch.setattr("gcs.roles.librarian.librarian.KeptIndex._find", lambda *_: {"best": 5})
        with pytest.raises(SpaceError):
            await ask(user, "red")


async def test_no_more_is_asked_for_than_may_travel(tmp_path: Path) -> None:
    async with librarians(MemoryBoard(), index(tmp_path / "a", 1)) as user:
        with pytest.raises(UsageError, match=str(MOST_PAGES)):
            await ask(user, "red", most=MOST_PAGES + 1)
