"""What the manifests start, started: Redis, gatherers, station, helpers and the crawl job, to a finished crawl."""

import http.server
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gcs import cli
from gcs.fakeweb import FakeWebSpec, Web, survey

from ..ports.kube_api import new_api, serving
from .manifests import Manifest, maker_of_secrets, named
from .node import Node, why_not

#: what a user's overlay would add to the crawl job: seeds, and settings for a web on loopback
QUICK = {
    "GCS_CRAWL_SCOPE": "any",
    "GCS_FETCH_ALLOW_PRIVATE": "true",
    "GCS_POLITENESS_DELAY_S": "0",
    "GCS_FETCH_CONNECTIONS": "4",
    "GCS_TEAM_TRIGGER": "",
    "GCS_TEAM_BEAT_S": "0.2",
}
#: reads the store as a program does: a word of a page
OPEN = "import gcs; print(next(page.text for page in gcs.open('s3://gcs/crawl') if page.text).split()[0])"
#: what a gatherer's settings allow: the store of the manifest, and this web
ALLOWED = {"GCS_ALLOW": "private store=s3://gcs/crawl"}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    if reason := why_not():
        pytest.skip(reason)
    node = Node(tmp_path, ".")
    try:
        node.secrets = make_secrets()
        yield node
    finally:
        node.close()


def make_secrets(container: Manifest | None = None) -> dict[str, dict[str, str]]:
    """Run the station's first container against an API server."""
    container = container or maker_of_secrets(".")
    kept = new_api()
    kept.token = ""
    with serving(http.server.HTTPServer(("127.0.0.1", 0), kept)) as server:
        words = ["kube", "--api", f"http://127.0.0.1:{server.server_address[1]}", "secrets", *container["args"]]
        cli.gcs.main(words, standalone_mode=False)
    return kept.secrets


def wait_until(true: Callable[[], bool], timeout_s: float = 60.0) -> None:
    """Poll; fails when it takes too long."""
    give_up_at = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < give_up_at, "it did not happen"
        time.sleep(0.1)


def gatherer(node: Node, number: int) -> str:
    """Start a pod of the StatefulSet."""
    node.start("StatefulSet", "gatherer", pod := f"gatherer-{number}", ALLOWED)
    return pod


def base(node: Node) -> None:
    """Start the whiteboard and the store."""
    node.start("StatefulSet", "redis", "redis-0")
    node.start("StatefulSet", "store", "store-0")
    for name in ("redis", "store"):
        wait_until(lambda name=name: node.probe("StatefulSet", name, f"{name}-0", "readinessProbe"))


def crawl(node: Node, web: Web, run: str = "crawl") -> None:
    """Make a job of the crawl's template, with the seeds of a web beside those of the configuration."""
    node.start("CronJob", "crawl", run, QUICK, *web.seeds)


def stored(node: Node) -> Counter[str]:
    """Pages in the store, as a person gets them: by gcs export in the station's pod."""
    lines = node.execute("station-a", "Deployment", "station", "gcs", "export", "s3://gcs/crawl").splitlines()
    return Counter(row["url"] for row in map(json.loads, lines) if not row["failure"] and row["session"] == 1)


def has_stored(node: Node, pod: str) -> bool:
    """Whether a gatherer has a page."""
    return any(row["gatherer"] == pod and row["pages"] for row in status(node)["team"])


def status(node: Node) -> dict:
    """How the crawl stands, as the station sees it."""
    return json.loads(node.fetch("http://127.0.0.1:8642/api/status", node.secrets["gcs-tokens"]["view"]))


def check(node: Node, web: Web, pods: list[str]) -> dict:
    """The job's report says done, and the store holds every page once."""
    assert node.wait("crawl", 180) == 0, node.messages("crawl")
    report = json.loads(node.output("crawl"))
    pages = stored(node)
    assert set(pages) == survey(web).pages
    assert set(pages.values()) == {1}
    assert (report["state"], report["pages"], report["overlap"]) == ("done", len(pages), 0.0)
    assert sorted(each["id"] for each in report["per_gatherer"]) == pods
    return report


def test_manifests_run_a_crawl_to_its_end(node: Node) -> None:
    web = node.serve(FakeWebSpec.plain(hosts=12, pages=1500, latency_s=0.05))
    base(node)
    pods = [gatherer(node, 0), gatherer(node, 1)]
    node.start("Deployment", "station", "station-a")
    wait_until(lambda: node.probe("Deployment", "station", "station-a", "readinessProbe"))
    crawl(node, web)
    for pod in ("helper-a", "helper-b"):
        node.start("Deployment", "helper", pod, {}, "--allow-private")
    wait_until(lambda: len([each for each in status(node)["helpers"] if each["pages"]]) == 2)
    assert node.terminate("helper-b", 20) == 0, node.messages("helper-b")  # the end of one is not the end of the other
    report = check(node, web, pods)
    assert report["helpers"] == 1, "they share a token"
    assert "lease" not in node.messages("station-a"), "no errand was refused"
    asked = len(node.requests().hits)
    crawl(node, web)
    assert node.wait("crawl", 180) == 0 and len(node.requests().hits) == asked, (
        "a job that is started again asks nobody"
    )
    crawl(node, web, "sunday")
    assert node.wait("sunday", 180) == 0, node.messages("sunday")
    again = json.loads(node.output("sunday"))
    assert (again["session"], again["pages"] + again["revisits"]) == (2, len(survey(web).pages)), again
    assert all(node.runs(pod) for pod in [*pods, "helper-a", "station-a", "redis-0"]), "they wait for the next crawl"
    assert node.terminate("helper-a", 20) == 0, node.messages("helper-a")
    assert node.probe("StatefulSet", "gatherer", "gatherer-0", "livenessProbe")
    assert b"gcs_pages" in node.fetch("http://127.0.0.1:8642/metrics", node.secrets["gcs-tokens"]["view"])
    for pod in ("station-a", *pods):
        assert node.terminate(pod, 60) == 0, node.messages(pod)


def test_gatherers_scale_as_kubernetes_scales_them(node: Node) -> None:
    """2 → 4 → 1 while it crawls; the highest numbers go first, each with its grace period. The station counts all."""
    web = node.serve(FakeWebSpec.plain(hosts=40, pages=2000, giant_share=0.3, latency_s=0.05))
    grace_s = named(".", "StatefulSet", "gatherer")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    base(node)
    pods = [gatherer(node, 0), gatherer(node, 1)]
    node.start("Deployment", "station", "station-a")
    crawl(node, web)
    wait_until(lambda: len(node.requests().hits) > 150)
    pods += [gatherer(node, 2), gatherer(node, 3)]
    wait_until(lambda: all(has_stored(node, pod) for pod in pods))
    assert node.terminate(pods.pop(), grace_s) == 0
    station = "station-a", "Deployment", "station"  # while the crawl goes on, what one gatherer has sent can be read
    word = node.execute(*station, "python3", "-c", OPEN).strip()
    assert "http://" in node.execute(*station, "gcs", "search", "s3://gcs/crawl", word)
    for pod in reversed(pods[1:]):
        assert node.terminate(pod, grace_s) == 0, node.messages(pod)
    pods.append("gatherer-3")
    report = check(node, web, pods)
    wait_until(lambda: status(node)["state"] == "done")
    assert status(node)["report"]["pages"] == status(node)["now"]["pages"] == report["pages"]
    assert sorted(row["gatherer"] for row in status(node)["team"]) == pods
    assert node.runs("gatherer-0")
