"""Quality of a crawl by its order, on three real web graphs: the part of the truly best pages among the first fetched.

`scripts/bench quality [--json] [--turns] [GRAPH…]`: names of folders in ../shared/data. Averages of four draws of 50
seeds. With --turns, sites take turns, each in its own order, as with `frontier.queue = hosts`, else all are in one.
"""

import dataclasses
import json
import sys
import time
from pathlib import Path

from gcs.sim.engine import order_quality
from gcs.sim.graph.graph_files import load

DATA = Path(__file__).parents[3] / "shared" / "data"
GRAPHS = ("debian-java", "cnr-2000", "wikispeedia")


def main() -> None:
    as_json = "--json" in sys.argv
    names = [argument for argument in sys.argv[1:] if not argument.startswith("-")] or GRAPHS
    begun, found = time.perf_counter(), {}
    for name in names:
        if not (DATA / name / "edges.txt.gz").exists():
            sys.exit(f"{DATA / name}: there is no graph here")
        found[name] = rows = order_quality.averaged(load(DATA / name), in_turns="--turns" in sys.argv)
        if not as_json:
            print(f"\n{name}: part of the best N by PageRank / by back-links (PageRank held)")
            orders = dict.fromkeys(row.order for row in rows)
            print(f"{'fetched':>9} " + "".join(f"{order:>24}" for order in orders))
            for share in dict.fromkeys(row.share for row in rows):
                at = [row for row in rows if row.share == share]
                cells = (f"{row.by_pagerank:.3f} / {row.by_backlinks:.3f} ({row.pagerank_mass:.2f})" for row in at)
                print(f"{share:>8.0%}  " + "".join(f"{cell:>24}" for cell in cells))
    if as_json:
        rows = [{"graph": name} | dataclasses.asdict(row) for name, rows in found.items() for row in rows]
        print(json.dumps({"rows": rows, "seconds": round(time.perf_counter() - begun, 1)}))


if __name__ == "__main__":
    main()
