"""The manifests as `kubectl apply -k` would send them."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

K8S = Path(__file__).parents[2] / "k8s"
#: folders that a person applies
TARGETS = (".", "overlays/dev", "overlays/keda", "overlays/prod")
Manifest = dict[str, Any]


@cache
def build(target: str) -> tuple[Manifest, ...]:
    """All objects of one overlay."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed: nothing here can build the manifests")
    built = subprocess.run(["kubectl", "kustomize", str(K8S / target)], capture_output=True, text=True, timeout=60)
    assert built.returncode == 0, built.stderr
    return tuple(yaml.safe_load_all(built.stdout))


def pod_of(item: Manifest) -> Manifest | None:
    """The pod template of a workload: metadata and spec."""
    spec = item.get("spec", {})
    if item["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    return spec.get("template") if item["kind"] in ("StatefulSet", "Deployment", "Job", "CronJob") else None


def workloads(target: str) -> Iterator[tuple[str, Manifest]]:
    """Name and pod template of everything that runs."""
    for item in build(target):
        pod = pod_of(item)
        if pod is not None:
            yield f"{item['kind']}/{item['metadata']['name']}", pod


def named(target: str, kind: str, name: str) -> Manifest:
    """One object."""
    found = [item for item in build(target) if item["kind"] == kind and item["metadata"]["name"] == name]
    assert len(found) == 1, f"{target}: {len(found)} of {kind}/{name}"
    return found[0]


def secrets_of(target: str) -> dict[str, set[str]]:
    """Secret → keys: those that the secrets job makes, and those that the overlay says its user must bring."""
    made: dict[str, set[str]] = {}
    job = named(target, "Job", "secrets")
    entries = list(job["spec"]["template"]["spec"]["containers"][0]["args"])
    space = next(item for item in build(target) if item["kind"] == "Namespace")
    entries += [f"{entry}=" for entry in space["metadata"].get("annotations", {}).get("gcs/bring-secrets", "").split()]
    for entry in entries:
        match = re.fullmatch(r"([^:]+):([^=]+)=.*", entry)
        assert match, entry
        made.setdefault(match[1], set()).add(match[2])
    return made
