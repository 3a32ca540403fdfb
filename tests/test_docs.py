"""The documentation names files that exist, and its map of the code stays a map."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ARCHITECTURE = ROOT / "gcs" / "ARCHITECTURE.md"
PAGES = [ARCHITECTURE, ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob(".github/*.md"))]
#: a path in backticks: a file with its suffix, or a folder inside of another with a slash at its end
PATH = re.compile(r"`((?:[\w.-]+/)+[\w-]+\.(?:py|lua|js|html|css|md|toml)|(?:[\w.-]+/){2,})`")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
#: where paths may begin; the last ones are the folders that a user of GCS has
PLACES = ("", "gcs", "docs")
#: pages that are made from the code when the manual is built (tests/manual builds it, and checks these links)
GENERATED = "reference/"
USERS = ("mysite", "summaries", "state", "warc")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_names_files_that_exist(page: Path) -> None:
    text = page.read_text()
    paths = [path for path in PATH.findall(text) if not path.startswith(USERS)]
    missing = [path for path in paths if not any((ROOT / place / path).exists() for place in PLACES)]
    assert not missing
    links = [link for link in LINK.findall(text) if not link.removeprefix("../").startswith(GENERATED)]
    assert not [link for link in links if not (page.parent / link).exists()]


def test_architecture_is_short() -> None:
    lines = ARCHITECTURE.read_text().splitlines()
    assert len(lines) <= 200
    assert not [line for line in lines if len(line) > 120]


def test_every_promise_names_tests_that_exist() -> None:
    """A row of a table in docs/guarantees.md is a promise: its last cell names the files of tests that hold it."""
    rows = [line for line in (ROOT / "docs" / "guarantees.md").read_text("utf-8").splitlines() if line[:2] == "| "]
    promises = [row for row in rows if not row.endswith("| test |")]
    assert len(promises) > 40
    for row in promises:
        named = re.findall(r"`(tests/[^`]+)`", row.rstrip("| ").rpartition("|")[2])
        assert named, f"no test holds this: {row}"
        for file in named:
            assert re.search(r"^ *(async )?def test_", (ROOT / file).read_text("utf-8"), re.MULTILINE), file
