"""The manifests as `kubectl apply -k` would send them."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

K8S = Path(__file__).parents[2] / "k8s"
VALUES = Path(__file__).parent / "values.yaml"
#: helm comes as a Python package
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
#: the chart with its defaults, and with everything on
CHART, FULL_CHART = "chart", "chart, everything on"
#: what a person applies: folders of k8s/, and the chart
TARGETS = (".", "overlays/dev", "overlays/keda", "overlays/prod", CHART, FULL_CHART)
Manifest = dict[str, Any]


@cache
def build(target: str) -> tuple[Manifest, ...]:
    """All objects of one overlay, or of the chart."""
    program, words = "kubectl", ["kustomize", str(K8S / target)]
    if target in (CHART, FULL_CHART):
        program, words = "helm", ["template", "gcs", str(K8S / "chart"), "-n", "gcs"]
        words += ["-f", str(VALUES)] if target == FULL_CHART else []
    if (found := shutil.which(program, path=PATH)) is None:
        pytest.skip(f"{program} is not installed: nothing here can build the manifests")
    built = subprocess.run([found, *words], capture_output=True, text=True, timeout=60)
    assert built.returncode == 0, built.stderr
    return tuple(item for item in yaml.safe_load_all(built.stdout) if item)


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


def maker_of_secrets(target: str) -> Manifest:
    """The container that makes the secrets, before the station starts."""
    [container] = named(target, "Deployment", "station")["spec"]["template"]["spec"]["initContainers"]
    assert container["name"] == "secrets"
    return container


def containers_of(pod: Manifest) -> list[Manifest]:
    """All containers of a pod, those that run first and those that stay."""
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def secrets_of(target: str) -> dict[str, set[str]]:
    """Secret → keys: those that the station's pod makes, and those that the overlay says its user must bring."""
    made: dict[str, set[str]] = {}
    station = named(target, "Deployment", "station")
    entries = list(maker_of_secrets(target)["args"])
    bring = station["metadata"].get("annotations", {}).get("gcs/bring-secrets", "")
    entries += [f"{entry}=" for entry in bring.split()]
    for entry in entries:
        match = re.fullmatch(r"([^:]+):([^=]+)=.*", entry)
        assert match, entry
        made.setdefault(match[1], set()).add(match[2])
    return made
