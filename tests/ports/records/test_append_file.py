import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gcs.errors import StoreError
from gcs.ports.records.append_file import AppendFile


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """A disk that is full at a size: the kernel writes up to it and then refuses."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_append_file_writes_only_at_flush(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "f")
    file.append(b"one")
    file.append(b"two")
    assert (file.end, file.size_bytes, file.path.read_bytes()) == (6, 0, b"")
    file.flush()
    assert (file.end, file.size_bytes, file.path.read_bytes()) == (6, 6, b"onetwo")
    file.append(b"dropped")
    file.close()
    file.close()
    again = AppendFile(tmp_path / "f")
    again.append(b"three")
    again.sync()
    again.close()
    assert again.path.read_bytes() == b"onetwothree"


def test_append_file_rolls_back_a_write_that_fails_half_way(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "f")
    file.append(b"x" * 1_000)
    file.flush()
    file.append(b"y" * 5_000)
    with file_size_limit(3_000), pytest.raises(StoreError, match=r"cannot write .*/f: File too large"):
        file.flush()
    assert file.path.read_bytes() == b"x" * 1_000
    file.flush()  # there is room again: nothing was lost
    assert file.path.read_bytes() == b"x" * 1_000 + b"y" * 5_000
    file.close()


def test_append_file_refuses_to_share_a_new_name(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(StoreError, match="File exists"):
        AppendFile(tmp_path / "f", exclusive=True)
