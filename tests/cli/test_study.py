"""`gcs study` as a user meets it: files, JSON, remembered results, graphs of all kinds, wrong wishes."""

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from gcs.cli.study import study
from gcs.sim.engine.machines import MACHINES, Machine
from gcs.sim.studies import cho_quality, marin_queues

#: the names of the architecture page: other tools ask for them
NAMES = [
    "cho-coverage",
    "cho-seeds",
    "cho-overlap",
    "cho-communication",
    "cho-replication",
    "cho-quality",
    "cambazoglu",
    "marin-failures",
    "marin-prediction",
    "marin-queues",
    "teng-superpages",
    "teng-hot-pages",
    "teng-helpers",
    "web-sailor",
    "scale",
]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "tiny"
    place.mkdir()
    links = [(page, (page + step) % 40) for page in range(40) for step in (1, 7)]
    text = "".join(f"{a} {b}\n" for a, b in sorted(links))
    (place / "edges.txt.gz").write_bytes(gzip.compress(b"# forty pages\n" + text.encode()))
    urls = "".join(f"http://h{page // 5}.example/{page}\n" for page in range(40))
    (place / "urls.txt.gz").write_bytes(gzip.compress(urls.encode()))
    return place


def gcs(*words, cwd=None):
    command = [sys.executable, "-m", "gcs", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=100)


def test_study_writes_table_pictures_and_text(folder, tmp_path):
    done = gcs(
        "study", "cho-coverage", "--graph", folder, "-k", "1,2,4", "--cache", tmp_path / "c", "-o", tmp_path / "o"
    )
    assert done.returncode == 0, done.stderr
    assert "coverage falls as gatherers are added" in done.stdout
    table = (tmp_path / "o/cho-coverage.csv").read_text().splitlines()
    assert table[0].startswith("n,coverage") and [line.split(",")[0] for line in table[1:]] == ["1", "2", "4"]
    assert (tmp_path / "o/cho-coverage.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "o/cho-coverage.svg").read_text()
    assert "![" in (tmp_path / "o/cho-coverage.md").read_text()


def test_json_is_remembered_and_the_same(folder, tmp_path):
    words = ["study", "cho-coverage", "--graph", folder, "-k", "4", "-k", "1,4", "--cache", tmp_path / "c", "--json"]
    first, second = gcs(*words, cwd=tmp_path), gcs(*words, cwd=tmp_path)
    found = json.loads(first.stdout)
    assert {"study", "graph", "rows", "paper", "seconds"} <= found.keys()
    assert (found["study"], found["graph"]) == ("cho-coverage", "tiny")
    assert [row["n"] for row in found["rows"]] == [1, 4] and found["paper"][0]["coverage"] == 0.9
    assert json.loads(second.stdout) == found  # with the seconds of the first
    assert not (tmp_path / "studies").exists()


@pytest.fixture
def quick(monkeypatch):
    """The longest studies with less to do."""
    monkeypatch.setattr(cho_quality, "EXCHANGES", (0, 1, 99))
    for name, value in {"TREES_KEYS": 4000, "TREES_TOP": 80, "TREES_ROUNDS": 4}.items():
        monkeypatch.setattr(marin_queues, name, value)


def test_all_is_every_study_and_a_page_of_them(folder, tmp_path, quick):
    places = ["--graph", str(folder), "--cache", str(tmp_path / "c"), "-o", str(tmp_path / "o")]
    words = ["all", *places, "-k", "2,4", "--runs", "1", "--pictures", "png", "--json"]
    done = CliRunner().invoke(study, words, standalone_mode=False)
    found = json.loads(done.stdout)
    assert found.keys() == {"study", "graph", "rows", "paper", "seconds"} and found["study"] == "all"
    assert {one["study"] for one in found["rows"]} >= set(NAMES)
    assert all({"graph", "rows", "paper", "seconds"} <= one.keys() and one["rows"] for one in found["rows"])
    tables = {one["study"]: one["rows"][0] for one in found["rows"]}
    assert {"K", "model", "storage_imbalance", "request_imbalance", "bytes"} <= tables["cambazoglu"].keys()
    text = (tmp_path / "o/README.md").read_text()
    for name in NAMES:
        assert f"]({name}.png)" in text
        assert all((tmp_path / f"o/{name}.{form}").stat().st_size for form in ("png", "csv", "md"))
    assert "teng-special.png" not in text  # so small a web has no special pages, so there is nothing to draw


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["cho-coverage", "--graph", "synthetic:10", "--upstream"], "edges_upstream.txt.gz"),
        (["cho-coverage", "--graph", "synthetic:10", "--seed", "-1"], "--seed"),
        (["cho-communication", "--graph", "synthetic:10", "-k", "40000"], "room for 32,767"),
        (["teams", "--graph", "synthetic:10", "-k", "1,1000"], "room for 256"),
        (["teams", "--graph", "synthetic:10", "--delay", "-1"], "--delay"),
        (["teams", "--graph", "synthetic:10", "--latency", "inf"], "--latency is inf"),
        (["cho-coverage", "--graph", "synthetic:many"], "synthetic:1M"),
        (["cho-covrage", "--graph", "."], "cho-coverage"),
        (["cho-coverage", "--graph", "/nowhere"], "edges.txt.gz"),
        (["cho-coverage", "--graph", ".", "-k", "two"], "whole numbers"),
        (["cho-coverage", "--graph", ".", "-k", "0"], "whole numbers"),
        (["cho-coverage", "--graph", "synthetic:10", "--mode", "firewall"], "gcs study run"),
        (["run", "--graph", "synthetic:100", "--delay", "1"], "gcs study teams"),
        (["run", "--graph", "synthetic:100", "--mode", "firewall", "--replicated", "5"], "nothing is told"),
    ],
)
def test_wrong_wishes_are_explained(words, says):
    done = gcs("study", *words)
    assert done.returncode == 2 and says in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_graph_without_pages_is_refused(tmp_path):
    (tmp_path / "links.txt").write_text("# nothing yet\n")
    (tmp_path / "crawl/state").mkdir(parents=True)
    for place in ("links.txt", "crawl"):
        done = gcs("study", "cho-overlap", "--graph", place, "--cache", "c", cwd=tmp_path)
        assert done.returncode == 2 and done.stderr.startswith(f"gcs: {place}: no pages")


def test_a_team_of_ones_own_is_put_together_by_options(folder, tmp_path):
    words = ["--graph", folder, "-k", "2,4", "--cache", tmp_path / "c", "--seeds", "3"]
    choices = ["--partitioner", "metis", "--mode", "cross-over", "--order", "opic", "--queue", "tournament"]
    found = json.loads(gcs("study", "run", *words, *choices, "--superstep-pages", "2", "--json").stdout)
    assert [row["n"] for row in found["rows"] if row["coverage"] == 1.0][-1] == 4 and found["rows"][-1]["overlap"] > 0


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The directory of a crawl."""
    place = tmp_path_factory.mktemp("crawls") / "demo"
    assert gcs("demo", "--hosts", "4", "--pages", "40", "-o", place).returncode == 0
    return place


def test_a_crawl_is_a_graph_too(demo, tmp_path):
    words = ["--graph", demo, "-k", "2", "--cache", tmp_path / "c", "--json"]
    found = json.loads(gcs("study", "cho-communication", *words).stdout)
    assert found["graph"] == "demo" and found["rows"][0]["urls_per_page"] > 0


def test_costs_of_ones_own_change_the_scale(folder, tmp_path):
    costs = tmp_path / "costs.json"
    costs.write_text('{"page_cpu_s": 0.01}')
    words = ["study", "scale", "--graph", folder, "-k", "1", "--cache", tmp_path / "c", "--json"]
    assert json.loads(gcs(*words, "--costs", costs).stdout)["rows"][0]["pages_per_s"] == pytest.approx(100)
    costs.write_text('{"page_cpus": 1}')
    wrong = gcs(*words, "--costs", costs)
    assert wrong.returncode == 2 and "page_cpu_s" in wrong.stderr
    for name, value in (("headroom", 0), ("team_cpu_s", -1)):
        costs.write_text(json.dumps({name: value}))
        wrong = gcs(*words, "--costs", costs)
        assert wrong.returncode == 2 and f"{name} is {value}; it must be above 0" in wrong.stderr


def test_a_crawl_tells_whether_a_team_pays(demo, tmp_path):
    words = ["study", "teams", "--graph", demo, "--gatherers", "1,2", "--cache", tmp_path / "c"]
    found = json.loads(gcs(*words, "--delay", "2", "--json").stdout)
    assert [row["n"] for row in found["rows"]] == [1, 2]
    assert found["rows"][0]["page_s"] >= 2 and found["advice"].startswith("a team does not pay: the host 127.")
    shown = gcs(*words, "-o", tmp_path / "o").stdout
    assert "limited_by" in shown and "A team " in shown and "A team " in (tmp_path / "o/teams.md").read_text()


def test_scale_takes_prices_of_the_users_own(folder, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text("[mine]\ncores = 8\nusd_per_hour = 0.5\nmbit_s = 1000\n")
    told = ("study", "scale", "--graph", folder, "-k", "8", "--web-pages", "5000", "--cache", tmp_path / "c", "--json")
    done = gcs(*told, "--prices", prices, "--machine", "mine")
    assert done.returncode == 0, done.stderr
    row = next(row for row in json.loads(done.stdout)["rows"] if row["pages"] == 5000)
    assert row["machines"] == 2 and row["usd"] == pytest.approx(row["machine_hours"] * 0.5, rel=1e-4)
    assert "no such kind" in gcs(*told, "--machine", "mine").stderr
    prices.write_text("[mine]\ncores = 'many'\n")
    assert "docs/studies/prices.toml" in gcs(*told, "--prices", prices).stderr


def test_table_of_prices_that_ships_is_the_one_that_is_built_in():
    shipped = msgspec.toml.decode(Path("docs/studies/prices.toml").read_bytes(), type=dict[str, Machine])
    assert shipped.keys() == MACHINES.keys()
    for name, machine in shipped.items():
        built_in = MACHINES[name]
        assert machine.usd_per_hour == pytest.approx(built_in.usd_per_hour, abs=0.005)
        assert replace(machine, usd_per_hour=0) == replace(built_in, usd_per_hour=0)


def test_study_prints_no_commands_of_a_terminal(folder, tmp_path):
    done = gcs("study", "cho-coverage", "--graph", folder, "-k", "1,2", "--cache", tmp_path / "c", "-o", tmp_path / "o")
    assert "[agrees]" in done.stdout and "\ufffd" not in done.stdout and "\x1b" not in done.stdout
