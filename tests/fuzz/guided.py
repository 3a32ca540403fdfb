"""scripts/fuzz guided READER […]: atheris (libFuzzer) makes the inputs for one reader, guided by coverage of gcs.

It ends at the first find. Other arguments are libFuzzer's, such as -max_total_time=60.
"""

import itertools
import sys
import tempfile
from pathlib import Path

try:
    import atheris
except ImportError:
    sys.exit("this needs atheris, which has wheels for some versions of Python: .venv/bin/pip install atheris")

with atheris.instrument_imports(include=["gcs"]):
    from .readers import READERS, seeds

#: CPU seconds and megabytes for one input, and its length
LIMITS = ("-timeout=1", "-rss_limit_mb=800", "-max_len=16384")


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in READERS:
        sys.exit(f"give a reader: {', '.join(READERS)}")
    with tempfile.TemporaryDirectory(prefix="gcs-fuzz-") as folder:
        for number, data in enumerate(itertools.chain(*seeds().values())):
            (Path(folder) / str(number)).write_bytes(data)
        atheris.Setup([sys.argv[0], *LIMITS, *sys.argv[2:], folder], READERS[sys.argv[1]])
        atheris.Fuzz()


if __name__ == "__main__":
    main()
