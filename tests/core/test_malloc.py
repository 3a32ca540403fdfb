import subprocess
import sys

import pytest

#: maps and unmaps some megabytes over and over: with the arena kept, the second time costs no page fault
PROBE = """
import resource, sys
from gcs.core import malloc
name, size = sys.argv[1], int(sys.argv[2])
kept = getattr(malloc, name)() if name else None
for _ in range(4): bytes(bytearray(size))
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(4): bytes(bytearray(size))
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(name: str, size: int) -> tuple[str, int]:
    command = [sys.executable, "-c", PROBE, name, str(size)]
    kept, count = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return kept, int(count)


@pytest.mark.parametrize(("name", "size"), [("keep_arena", 1 << 20), ("keep_everything", 1 << 26)])
def test_kept_memory_saves_page_faults(name: str, size: int) -> None:
    kept, with_it = faults(name, size)
    if kept == "False":
        pytest.skip("no glibc here: nothing to tell")
    _, without_it = faults("", size)
    assert with_it * 10 < without_it
