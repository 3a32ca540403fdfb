"""docs/papers.md names every row of the papers, and files and tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = (ROOT / "docs" / "papers.md").read_text()
ROWS = re.findall(r"^\| ([A-Z]\d+) \|(.*)$", TABLE, re.M)
PAPERS = {"T": 21, "C": 6, "S": 7, "G": 7, "M": 8}


def test_every_row_of_the_papers_is_in_the_table_once() -> None:
    assert [name for name, _ in ROWS] == [
        f"{paper}{number + 1}" for paper, rows in PAPERS.items() for number in range(rows)
    ]


def test_files_and_tests_of_the_table_exist() -> None:
    for name, cells in ROWS:
        where, *_ = re.findall(r"`([a-z_/]+\.py)`", cells)
        assert (ROOT / "gcs" / where).is_file(), (name, where)
        file, test = re.findall(r"`(tests/[a-z_/]+\.py)(?:::(\w+))?`", cells)[0]
        assert f"def {test}(" in (ROOT / file).read_text() if test else (ROOT / file).is_file(), (name, file, test)
