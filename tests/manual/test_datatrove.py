"""The recipe that brings our tables into datatrove, as the manual has it. Skipped where datatrove is not installed."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_store import Store
from tests.ports.records.pages import record

CORPUS = Path(__file__).parents[2] / "docs" / "recipes" / "corpus.md"


def test_recipe_reads_our_tables(tmp_path: Path) -> None:
    pytest.importorskip("datatrove", reason="datatrove is not installed (pip install 'datatrove[io]' regex orjson)")
    with Store.open(tmp_path / "docs", StoreSettings(log_records=3), "g0") as store:
        for number in range(5):
            language = "de" if number == 4 else "en"
            store.add_page(record(f"http://a.example/{number}", text="word " * 30 * number, language=language))
        store.flush()
    exported = [sys.executable, "-m", "gcs", "export", "docs", "--format", "parquet", "-o", "tables"]
    subprocess.run(exported, cwd=tmp_path, check=True, capture_output=True)
    found = re.search(r"^  ```py\n(.*?)^  ```$", CORPUS.read_text(), re.M | re.S)
    assert found
    (tmp_path / "recipe.py").write_text(found[1].replace("\n  ", "\n").removeprefix("  "))
    subprocess.run([sys.executable, "recipe.py"], cwd=tmp_path, check=True, capture_output=True)
    lines = (tmp_path / "english" / "00000.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == [f"http://a.example/{number}" for number in (1, 2, 3)]
