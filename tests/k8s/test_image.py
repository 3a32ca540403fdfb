"""The image that k8s/Dockerfile makes, in containers that the manifests describe: a crawl to its end.

By scripts/k8s-image-test, which builds it; elsewhere this is skipped.
"""

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from gcs.fakeweb import FakeWebSpec, survey

from .containers import ARGUMENTS, VARIABLE, ContainerNode, podman
from .manifests import named
from .node import why_not
from .test_processes import base, check, crawl, gatherer, make_secrets, status, wait_until

pytestmark = pytest.mark.skipif(VARIABLE not in os.environ, reason="scripts/k8s-image-test builds the image for this")

#: bytes of the image of gatherer and station
MOST_BYTES = 350_000_000


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ContainerNode]:
    assert not why_not()
    node = ContainerNode(tmp_path, ".")
    try:
        node.secrets = make_secrets()
        yield node
    finally:
        node.close()


def image() -> str:
    [container] = named(".", "StatefulSet", "gatherer")["spec"]["template"]["spec"]["containers"]
    return str(container["image"])


def run(*words: str) -> str:
    """What a command prints in the image."""
    return podman("run", "--rm", "--network", "host", *shlex.split(os.environ[ARGUMENTS]), image(), *words)


def test_image_is_small_and_says_what_is_in_it() -> None:
    [found] = json.loads(podman("image", "inspect", image()))
    assert found["Size"] <= MOST_BYTES, f"{found['Size'] / 1e6:.0f} MB"
    assert found["Config"]["User"] == "10001"
    bill = json.loads(run("cat", "/opt/gcs/sbom.cdx.json"))
    parts = {part["name"]: part["version"] for part in bill["components"]}
    assert bill["bomFormat"] == "CycloneDX" and {"pycurl", "redis", "s3fs", "opentelemetry-sdk"} <= parts.keys()
    locked = dict(
        line.split("==") for line in (Path(__file__).parents[2] / "scripts/versions.txt").read_text().splitlines()[4:]
    )
    locked = {name.lower().replace("_", "-"): version for name, version in locked.items()}
    others = {name for name, version in parts.items() if locked.get(name.lower().replace("_", "-")) != version}
    assert others <= {"gcs-crawler"}, "not of the version that was tested"


def test_containers_crawl_a_site_to_its_end(node: ContainerNode) -> None:
    web = node.serve(FakeWebSpec.plain(hosts=12, pages=600, latency_s=0.05))
    base(node)
    pods = [gatherer(node, 0), gatherer(node, 1)]
    node.start("Deployment", "station", "station-a")
    wait_until(lambda: node.probe("Deployment", "station", "station-a", "readinessProbe"))
    crawl(node, web)
    node.start("Deployment", "helper", "helper-a", {}, "--allow-private")
    wait_until(lambda: any(each["pages"] for each in status(node)["helpers"]))
    report = check(node, web, pods)
    assert report["helpers"] == 1
    assert node.probe("StatefulSet", "gatherer", "gatherer-0", "livenessProbe")
    for pod in ("helper-a", "station-a", *pods):
        assert node.terminate(pod, 60) == 0, node.messages(pod)
    asked = [len(times) for url, times in node.requests().hits.items() if url in survey(web).pages]
    helped = sum(line.get("pages", 0) for line in map(json.loads, node.messages("helper-a").splitlines()))
    assert sum(asked) - len(asked) <= helped, "pages are asked for once; some of a helper's again, to compare"
