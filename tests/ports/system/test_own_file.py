"""Files of the crawl directory are never written through a link."""

import os
from pathlib import Path

import pytest

from gcs.ports.system.own_file import open_own, own_stream, refuse_links


@pytest.fixture
def link(tmp_path: Path) -> Path:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "link").symlink_to("victim")
    return tmp_path / "link"


def test_link_is_not_written_through(link: Path) -> None:
    for mode in ("w", "a", "wb", "ab", "r+b"):
        with pytest.raises(OSError, match="symbolic link: remove the link"):
            own_stream(link, mode)
    for flags in (os.O_WRONLY | os.O_CREAT, os.O_RDWR | os.O_CREAT | os.O_TRUNC):
        with pytest.raises(OSError, match="symbolic link"):
            open_own(link, flags)
    with pytest.raises(OSError, match="symbolic link"):
        refuse_links([link.with_name("victim"), link])
    assert link.with_name("victim").read_text() == "precious"


def test_plain_file_is_opened_as_usual(tmp_path: Path) -> None:
    with own_stream(tmp_path / "new", "w") as file:
        file.write("one")
    with own_stream(tmp_path / "new", "a") as file:
        file.write(" two")
    assert (tmp_path / "new").read_text() == "one two"
    (tmp_path / "folder").mkdir()
    (tmp_path / "elsewhere").symlink_to("folder")
    own_stream(tmp_path / "elsewhere" / "file", "w").close()  # a folder may be a link
    refuse_links([tmp_path / "new", tmp_path / "none"])
