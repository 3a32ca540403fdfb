"""pywb, the replay tool of web archives, in a virtual environment of its own (it pins a redis of 2016)."""

import os
from pathlib import Path

import pytest


def pywb_program(name: str) -> Path:
    """A program of pywb; skips the test where pywb is not installed."""
    default = Path(__file__).parents[3] / ".venv" / "pywb"
    program = Path(os.environ.get("GCS_PYWB_VENV", default)) / "bin" / name
    if not program.exists():
        pytest.skip(f"pywb is not installed at {program.parents[1]} (scripts/test does that; or set GCS_PYWB_VENV)")
    return program
