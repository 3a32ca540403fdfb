"""What is applied: overlays/dev with two gatherers, in a namespace of its own, and a site to crawl beside it."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

K8S = Path(__file__).parents[2] / "k8s"
#: names of the site, and its port
HOSTS, PORT = tuple(f"web-{number}" for number in range(4)), 8080

SETTINGS = """
[crawl]
scope = "any"
contact = "https://gcs-e2e.test/"

[fetch]
allow_private = true
connections = 8

[politeness]
delay_s = 0.0

[team]
trigger = ""
"""


@dataclass(frozen=True)
class Deployment:
    """Names and images; `images`: of the other containers, for a cluster without a way to a registry."""

    namespace: str
    image: str
    storage_class: str = ""
    images: dict[str, str] = field(default_factory=dict)

    def write(self, directory: Path) -> Path:
        """The overlay, as a folder for kubectl apply -k. No file is beside ours: a folder may be anywhere."""
        directory.mkdir(parents=True, exist_ok=True)
        seeds = f"http://{HOSTS[0]}.{self.namespace}.svc:{PORT}/tree/0\n"
        configs = [_replace("/data/seeds.txt", seeds), _replace("/data/team.toml", SETTINGS)]
        patches = [
            _patch("ConfigMap", "gcs-configs", configs),
            _patch("StatefulSet", "gatherer", [_replace(f"{_POD}/env/5/value", "private store=s3://gcs/crawl")]),
            _patch("Deployment", "helper", [{"op": "add", "path": f"{_POD}/args/-", "value": "--allow-private"}]),
        ]
        if self.storage_class:
            place = "/spec/volumeClaimTemplates/0/spec/storageClassName"
            claims = [{"op": "add", "path": place, "value": self.storage_class}]
            patches += [_patch("StatefulSet", name, claims) for name in ("gatherer", "redis", "store")]
        overlay = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "namespace": self.namespace,
            "resources": [os.path.relpath(K8S / "overlays" / "dev", directory.resolve())],
            "images": [_image("gcs-crawler", self.image), *(_image(*each) for each in self.images.items())],
            "replicas": [{"name": "gatherer", "count": 2}],
            "patches": patches,
        }
        (directory / "kustomization.yaml").write_text(json.dumps(overlay, indent=1))  # JSON is YAML
        return directory

    def make_namespace(self) -> str:
        """The namespace, with the rules of k8s/namespace.yaml."""
        labels = {"pod-security.kubernetes.io/enforce": "restricted", "gcs/made-by": "k8s-e2e"}
        return json.dumps(_object("v1", "Namespace", self.namespace, metadata={"labels": labels}))

    def make_site(self, pages: int) -> str:
        """The site: its program, a pod, a Service for each host, and who may reach it."""
        of = {"app.kubernetes.io/component": "web"}
        hosts = [f"{host}.{self.namespace}.svc" for host in HOSTS]
        container = {
            "name": "web",
            "image": self.image,
            "command": ["python3", "/site/site.py", str(PORT), str(pages), *hosts],
            "ports": [{"name": "http", "containerPort": PORT}],
            "readinessProbe": {"tcpSocket": {"port": "http"}, "periodSeconds": 2, "timeoutSeconds": 5},
            "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": [{"name": "site", "mountPath": "/site", "readOnly": True}],
        }
        pod = {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 2,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 10001,
                "runAsGroup": 10001,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [{"name": "site", "configMap": {"name": "site"}}],
        }
        program = (Path(__file__).parent / "site.py").read_text()
        port = [{"protocol": "TCP", "port": PORT}]
        crawlers = [{"key": "app.kubernetes.io/component", "operator": "In", "values": ["gatherer", "helper"]}]
        template = {"metadata": {"labels": of}, "spec": pod}
        objects = [
            _object("v1", "ConfigMap", "site", data={"site.py": program}),
            _object("apps/v1", "Deployment", "web", spec={"selector": {"matchLabels": of}, "template": template}),
            *(_object("v1", "Service", host, spec={"selector": of, "ports": [{"port": PORT}]}) for host in HOSTS),
            _policy(
                "web-in", of, {"ingress": [{"from": [{"podSelector": {"matchExpressions": crawlers}}], "ports": port}]}
            ),
            _policy("web-out", crawlers, {"egress": [{"to": [{"podSelector": {"matchLabels": of}}], "ports": port}]}),
        ]
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


_POD = "/spec/template/spec/containers/0"


def _replace(path: str, value: str) -> dict[str, str]:
    return {"op": "replace", "path": path, "value": value}


def _patch(kind: str, name: str, operations: list[dict[str, str]]) -> dict[str, Any]:
    return {"target": {"kind": kind, "name": name}, "patch": json.dumps(operations)}


def _image(name: str, wanted: str) -> dict[str, str]:
    """What kustomize puts in place of an image: NAME:TAG, of a registry with a port, too."""
    place, colon, tag = wanted.rpartition(":")
    if not colon or "/" in tag:
        place, tag = wanted, "latest"
    return {"name": name, "newName": place, "newTag": tag}


def _object(version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": name} | more.pop("metadata", {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def _policy(name: str, pods: Any, rules: dict[str, Any]) -> dict[str, Any]:
    selector = {"matchExpressions": pods} if isinstance(pods, list) else {"matchLabels": pods}
    types = [word.capitalize() for word in rules]
    spec = {"podSelector": selector, "policyTypes": types, **rules}
    return _object("networking.k8s.io/v1", "NetworkPolicy", name, spec=spec)
