"""Google's published cases for robots.txt (robotstxt-spec-test, Apache 2.0), as the source of robotspy has them.

The package has 400 cases. Four have no URL; those of a byte order mark have lost its bytes, which are put back here.
`DISAGREEMENTS` names every case in which we differ from what Google expects, with the reason.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gcs.core.page.robots import Robots
from gcs.core.url.canonical import canonical

FOLDER = Path(__file__).parents[3] / ".venv" / "robotspy" / "tests"
FILES = ("test_google_correctness.py", "test_google_stress.py")
#: where the original files have bytes of a byte order mark
MARKS = {
    "BOM_characters0": (b"User-Agent", b"\xef\xbb\xbfUser-Agent"),
    "BOM_characters1": (b"User-Agent", b"\xef\xbbUser-Agent"),
    "BOM_characters2": (b"User-Agent", b"\xefUser-Agent"),
    "BOM_characters3": (b"User-Agent", b"\xef\x11\xbfUser-Agent"),
    "BOM_characters4": (b"Disallow", b"\xef\xbb\xbfDisallow"),
}
NO_URL = "no URL: there is nothing to ask for"
ESCAPED = "RFC 9309, 2.2.2: what is not ASCII is compared escaped, and an escape that needs none as its character"
DIGITS = "a crawler whose name has digits heeds what is addressed to that name, though the RFC knows no digits"
#: (group of cases, crawler, URL) → reason
DISAGREEMENTS = {
    ("empty_string0", "FooBot", ""): NO_URL,
    ("empty_string0", "", ""): NO_URL,
    ("empty_string1", "FooBot", ""): NO_URL,
    ("empty_string1", "", ""): NO_URL,
    ("non_ascii_paths1", "FooBot", "http://foo.bar/foo/bar/ツ"): ESCAPED,
    ("non_ascii_paths2", "FooBot", "http://foo.bar/foo/bar/ツ"): ESCAPED,
    ("non_ascii_paths3", "FooBot", "http://foo.bar/foo/bar/baz"): ESCAPED,
    ("369883", "AB42bot", "http://example.com/foo/bar"): DIGITS,
    ("369883", "AB42bot", "http://example.com/"): DIGITS,
    ("860237", "XYZ123bot", "http://example.com/robots.txt"): DIGITS,
}

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the source of robotspy is not there (scripts/test)")


class Case(NamedTuple):
    """What Google expects."""

    name: str
    robots: bytes
    agent: str
    url: str
    is_allowed: bool


def cases(file: Path) -> Iterator[Case]:
    """The cases of a test file, read and not run; six are comments there, since robotspy fails them."""
    tree = ast.parse(re.sub(r"(?m)^#    \[", "    [", file.read_text(encoding="utf-8")))
    known: dict[str, Any] = {"ALLOWED": True, "DISALLOWED": False}
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name = node.targets[0].id
        if name.startswith("robots_txt_"):
            known[name] = ast.literal_eval(node.value)
        elif name.startswith("data_") and isinstance(node.value, ast.Tuple):
            for row in node.value.elts:
                assert isinstance(row, ast.List)
                robots, agent, url, verdict = (
                    known[part.id] if isinstance(part, ast.Name) else ast.literal_eval(part) for part in row.elts
                )
                group = name.removeprefix("data_")
                before, after = MARKS.get(group, (b"", b""))
                yield Case(group, robots.lstrip("\n").encode().replace(before, after, 1), agent, url, verdict)


def agrees(case: Case) -> bool:
    url = canonical(case.url)
    return url is not None and Robots.parse(case.robots, case.agent).allows(url) is case.is_allowed


def test_google_and_we_agree_but_for_what_is_listed() -> None:
    found = [case for name in FILES for case in cases(FOLDER / name)]
    assert len(found) == 400
    differing = {(case.name, case.agent, case.url) for case in found if not agrees(case)}
    assert differing == DISAGREEMENTS.keys()
    assert len(found) - len([case for case in found if not agrees(case)]) >= 390
