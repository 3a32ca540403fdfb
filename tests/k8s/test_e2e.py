"""scripts/k8s-e2e against a cluster without Kubernetes: that it goes through, and that it sees what it is there for."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .cluster import StandInCluster
from .manifests import K8S
from .node import why_not
from .test_processes import make_secrets

#: in place of the real one
KUBECTL = Path(__file__).parent / "stand_in_kubectl"
HOSTS = " ".join(f"web-{number}.gcs-e2e.svc" for number in range(4))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandInCluster]:
    if reason := why_not():
        pytest.skip(reason)
    cluster = StandInCluster(tmp_path, make_secrets, HOSTS)
    try:
        yield cluster
    finally:
        cluster.close()


def run(cluster: StandInCluster, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PATH": f"{KUBECTL}:{os.environ['PATH']}",
        "GCS_STAND_IN_CLUSTER": str(cluster.address),
    }
    command = [sys.executable, str(K8S.parent / "scripts" / "k8s.d" / "e2e.py"), "--pages", "60", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=850)


@pytest.mark.timeout(900)  # a minute or two on a machine of its own
def test_every_step_passes_on_the_manifests(cluster: StandInCluster) -> None:
    done = run(cluster, "--next-image", "gcs-crawler:0.2.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all is well" in done.stdout and not cluster.objects, "and nothing is left"


def test_cluster_without_a_default_storage_class_is_told(cluster: StandInCluster) -> None:
    cluster.objects["StorageClass", "local"]["metadata"]["annotations"].clear()
    done = run(cluster)
    assert done.returncode == 2 and "no default StorageClass (there is: local)" in done.stdout, done.stdout
    assert {words[2] for words in cluster.calls} == {"version", "get"}, "nothing was made"


@pytest.mark.timeout(300)  # the kubelet tries again: it takes a minute until that is believed
def test_image_that_no_node_gets_is_told(cluster: StandInCluster) -> None:
    """Not after ten minutes, and as a failure of the run: with what kubectl says, and nothing is left."""
    cluster.missing.add("gcs-crawler:9")
    done = run(cluster, "--image", "gcs-crawler:9")
    assert done.returncode == 1 and "no node gets the image gcs-crawler:9 (ImagePullBackOff" in done.stdout, done.stdout
    assert "get pods -o wide" in done.stderr and not cluster.objects


def test_upgrade_to_the_same_image_is_refused(cluster: StandInCluster) -> None:
    done = run(cluster, "--image", "gcs-crawler:9", "--next-image", "gcs-crawler:9")
    assert done.returncode == 2 and "another tag" in done.stderr and not cluster.calls
