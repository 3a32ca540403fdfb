"""Programs of others, in JavaScript, that judge what we write (scripts/test installs them)."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / ".venv" / "judges"


def ask(package: str, program: str, question: object) -> Any:
    """The answer of a JavaScript module to a question, both JSON; the test is skipped where the package is absent."""
    node = shutil.which("node")
    if not node or not (FOLDER / "node_modules" / package).is_dir():
        pytest.skip(f"node, or {package} at {FOLDER}, is not installed (scripts/test does that)")
    reads = "import { readFileSync } from 'fs'; const question = JSON.parse(readFileSync(0));"
    done = subprocess.run(
        [node, "--input-type=module", "--eval", f"{reads}\n{program}"],
        cwd=FOLDER,
        input=json.dumps(question),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
