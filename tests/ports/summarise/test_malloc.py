import subprocess
import sys

import pytest

#: maps and unmaps a megabyte over and over: with the arena kept, the second hundred costs no page fault
PROBE = """
import resource, sys
from gcs.ports.summarise.malloc import keep_arena
kept = keep_arena() if sys.argv[1] == "keep" else None
for _ in range(100): bytes(bytearray(1 << 20))
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(100): bytes(bytearray(1 << 20))
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(mode: str) -> tuple[str, int]:
    command = [sys.executable, "-c", PROBE, mode]
    kept, count = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return kept, int(count)


def test_keep_arena_saves_page_faults() -> None:
    kept, with_it = faults("keep")
    if kept == "False":
        pytest.skip("no glibc here: nothing to tell")
    _, without_it = faults("leave")
    assert with_it * 10 < without_it
