"""scripts/slim-down, which takes out of the image's environment what no crawl reads."""

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "slim-down"

GONE = (
    "numpy/_core/tests/test_a.py", "pyarrow/include/arrow/a.h", "pyarrow/libarrow_flight.so.1", "numpy/f2py/a.py",
    "botocore/data/ec2/a.json", "babel/locale-data/fr.dat", "pygments/lexers/ada.py", "x/a.pyi",
)  # fmt: skip
KEPT = (
    "gcs/fakeweb/tests/a.py", "gcs/__init__.py", "numpy/__init__.py", "pyarrow/libarrow_python.so.26.1.0",
    "botocore/data/s3/a.json", "botocore/data/endpoints.json", "babel/locale-data/en.dat", "pygments/lexers/python.py",
)  # fmt: skip


def test_environment_in_a_folder_of_our_name_is_slimmed(tmp_path: Path) -> None:
    """In /opt/gcs every path has our name in it, which once kept all tests and headers: 30 MB."""
    packages = tmp_path / "opt" / "gcs" / "lib" / "python3.11" / "site-packages"
    twins = "pyarrow/libarrow_python.so", "pyarrow/libarrow_python.so.26"
    for name in (*GONE, *KEPT, *twins):
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text("x")
    subprocess.run([SCRIPT, tmp_path / "opt" / "gcs"], check=True, timeout=60)
    assert {name for name in GONE if (packages / name).exists()} == set()
    assert {name for name in (*KEPT, *twins) if not (packages / name).exists()} == set()
    assert {(packages / name).readlink() for name in twins} == {Path("libarrow_python.so.26.1.0")}
