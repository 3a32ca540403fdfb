"""A whiteboard in its own process, which a test may misuse."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .board import Board, open_board


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    with open_board(tmp_path) as board:
        yield board
