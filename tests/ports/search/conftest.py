"""One fixture, `opened`, runs each test of the contract on every engine."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gcs.ports.search import IndexEngine
from gcs.ports.search.index_place import ENGINES, make_index

Opened = Callable[[], IndexEngine]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "tantivy":
        pytest.importorskip("tantivy")
    return str(request.param)


@pytest.fixture
def opened(engine: str, tmp_path: Path) -> Opened:
    """Opens the index of this test: each call as another process would."""
    return lambda: make_index(tmp_path / "index", engine)
