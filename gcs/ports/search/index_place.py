"""Where an index is: a folder with the files of its engine, and a file that says which engine that is.

The index of a crawl is the folder index/ in its directory. An index of several crawls is a folder of its own.
"""

import importlib.util
import shutil
from pathlib import Path

import msgspec

from gcs.errors import StoreError, UsageError
from gcs.ports.search import IndexEngine

#: folder in a crawl directory
INDEX = "index"
#: names of engines; the first that is installed is the default
ENGINES = ("tantivy", "sqlite")
#: of the way in which pages are indexed: an index of another version is made anew
VERSION = 1
_FILE = "index.json"


class IndexCard(msgspec.Struct, frozen=True):
    """What a folder says of the index in it."""

    engine: str
    version: int = VERSION
    #: the crawl directories that it is of, where it is not in that of its only one
    sources: list[str] = []


def index_of(place: Path) -> Path | None:
    """The index of a crawl directory, or the place itself if that is an index; None if there is none."""
    return next((folder for folder in (place / INDEX, place) if (folder / _FILE).is_file()), None)


def read_card(folder: Path) -> IndexCard:
    try:
        card = msgspec.json.decode((folder / _FILE).read_bytes(), type=IndexCard)
    except (OSError, msgspec.DecodeError) as error:
        raise StoreError(f"{folder / _FILE}: {error}; make the index anew: gcs index --rebuild") from error
    if card.version != VERSION or card.engine not in ENGINES:
        raise UsageError(f"{folder}: another version of GCS made this index: gcs index --rebuild makes it anew")
    return card


def open_index(folder: Path) -> IndexEngine:
    """An index that is there."""
    return _engine(read_card(folder).engine, folder)


def make_index(folder: Path, engine: str = "", sources: tuple[Path, ...] = ()) -> IndexEngine:
    """An index that is there, or a new one."""
    if (folder / _FILE).is_file():
        card = read_card(folder)
        if engine and engine != card.engine:
            raise UsageError(f"{folder}: this index is one of {card.engine}; --rebuild changes the engine")
        if sources and [str(source) for source in sources] != card.sources:
            raise UsageError(f"{folder}: this index is of {', '.join(card.sources)}; --rebuild changes that")
        return _engine(card.engine, folder)
    engine = engine or next(name for name in ENGINES if name == "sqlite" or importlib.util.find_spec(name))
    made = _engine(engine, folder)
    temporary = folder / f".{_FILE}.tmp"
    temporary.write_bytes(msgspec.json.encode(IndexCard(engine, VERSION, [str(source) for source in sources])))
    temporary.replace(folder / _FILE)
    return made


def begin_anew(folder: Path) -> Path:
    """An empty folder beside, for an index that takes this one's place when it is complete (see `take_place`)."""
    beside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    return beside


def take_place(beside: Path, folder: Path) -> None:
    """Put the new index in the place of the old one."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    beside.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _engine(name: str, folder: Path) -> IndexEngine:
    if name == "sqlite":
        from gcs.ports.search.sqlite_engine import SqliteEngine

        return SqliteEngine(folder)
    try:
        from gcs.ports.search.tantivy_engine import TantivyEngine
    except ImportError as error:
        raise UsageError(f"{folder}: the index needs tantivy: pip install 'gcs-crawler[search]'") from error
    return TantivyEngine(folder)
