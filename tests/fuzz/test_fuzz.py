"""A short run of the fuzzer, and all that longer runs have found; `scripts/fuzz` is the long form."""

from pathlib import Path

import pytest

from .fuzz import FOUND, Inputs, bear, run
from .readers import READERS


@pytest.mark.parametrize("name", READERS)
def test_reader_bears_what_chance_makes(name: str) -> None:
    fed, finds = run(Inputs(2026, [name]), count=400, seconds=60.0)
    assert not finds
    assert fed == 400


@pytest.mark.parametrize("path", sorted(FOUND.iterdir()), ids=lambda path: path.name)
def test_reader_bears_what_was_found(path: Path) -> None:
    bear(path.name.rsplit("-", 2)[0], path.read_bytes())
