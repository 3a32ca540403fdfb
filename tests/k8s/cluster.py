"""A cluster without Kubernetes: keeps objects, does what the controllers do, and runs pods as processes of one node.

It speaks as much of kubectl as scripts/k8s-e2e uses. What it does as Kubernetes does: a StatefulSet's pods keep names
and claims, are replaced from the last to the first, each when the one after it is ready; the highest go first; a
Deployment's old pods go before new ones come; a pod that has ended is started again, and counted; a Job's is not,
unless it failed; SIGTERM, and SIGKILL after the grace period. Claims and secrets go with the namespace only.
"""

import copy
import hashlib
import itertools
import json
import shutil
import signal
import socketserver
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from .manifests import Manifest, pod_of
from .node import Node

Key = tuple[str, str]
#: kinds as kubectl's words name them
KINDS = {
    "pod": "Pod", "pods": "Pod", "job": "Job", "statefulset": "StatefulSet", "deployment": "Deployment",
    "deploy": "Deployment", "pvc": "PersistentVolumeClaim", "secret": "Secret", "namespace": "Namespace",
    "storageclasses": "StorageClass", "cronjob": "CronJob",
}  # fmt: skip
#: seconds between two looks of the controllers
LOOK_S = 0.1


class ClusterNode(Node):
    """Its ConfigMaps are objects of the cluster."""

    def __init__(self, directory: Path, objects: dict[Key, Manifest], hosts: str) -> None:
        super().__init__(directory, "", hosts)
        self._objects = objects

    def config(self, name: str) -> dict[str, str]:
        return dict(self._objects["ConfigMap", name]["data"])

    def forget(self, pod: str) -> None:
        """Nothing of a pod is left: its output, and its volumes that are not claims."""
        (self._directory / f"{pod}.out").unlink(missing_ok=True)
        for volume in (self._directory / "volumes" / pod).glob("*"):
            if volume.name != "data":
                shutil.rmtree(volume)

    def signal(self, pod: str, number: int) -> None:
        self._processes[pod].send_signal(number)


class Pod:
    """One pod that runs."""

    def __init__(self, name: str, owner: Key, template: Manifest, uid: str) -> None:
        self.name, self.owner, self.template, self.uid = name, owner, template, uid
        self.form = _form(template)
        self.restarts, self.is_started, self.is_ready, self.lacks_image = 0, False, False, False
        self.deleted_at: float | None = None
        self.grace_s = float(template["spec"].get("terminationGracePeriodSeconds", 30))

    def shown(self, phase: str = "Running") -> Manifest:
        labels = dict(self.template["metadata"]["labels"])
        if self.owner[0] == "Job":
            labels["job-name"] = self.owner[1]
        metadata = {"name": self.name, "uid": self.uid, "labels": labels}
        if self.deleted_at is not None:
            metadata["deletionTimestamp"] = "now"
        image = self.template["spec"]["containers"][0]["image"]
        container = {"image": image, "restartCount": self.restarts, "ready": self.is_ready}
        if self.lacks_image:
            container["state"] = {"waiting": {"reason": "ImagePullBackOff"}}
        status = {"phase": phase, "containerStatuses": [container]}
        return {"kind": "Pod", "metadata": metadata, "spec": self.template["spec"], "status": status}


class StandInCluster:
    """One namespace, one node. `make_secrets`: what a pod's first container makes."""

    def __init__(self, directory: Path, make_secrets: Callable[[Manifest], dict[str, dict[str, str]]], hosts: str):
        self.objects: dict[Key, Manifest] = {("StorageClass", "local"): _default_storage_class()}
        self.node = ClusterNode(directory, self.objects, f"redis station store {hosts}")
        self.calls: list[list[str]] = []
        self.missing: set[str] = set()  # images that no registry has
        self._kubectl = str(shutil.which("kubectl"))
        self._pods: dict[str, Pod] = {}
        self._uids = itertools.count(1)
        self._make_secrets, self._lock, self._ends = make_secrets, threading.RLock(), threading.Event()
        self.address = directory / "cluster"
        self._server = socketserver.ThreadingUnixStreamServer(str(self.address), self._handler())
        self._server.daemon_threads = True
        self._threads = [
            threading.Thread(target=self._server.serve_forever, args=(0.05,)),
            threading.Thread(target=self._control),
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._ends.set()
        self._server.shutdown()
        for thread in self._threads:
            thread.join()
        self._server.server_close()
        self.node.close()

    # -- controllers ----------------------------------------------------------------------------------

    def _control(self) -> None:
        while not self._ends.wait(LOOK_S):
            with self._lock:
                for pod in list(self._pods.values()):
                    self._attend(pod)
                for key, item in list(self.objects.items()):
                    if key[0] in ("StatefulSet", "Deployment"):
                        self._keep(key, item)
                    elif key[0] == "Job":
                        self._work(key, item)
                for key, item in list(self.objects.items()):
                    owners = item["metadata"].get("ownerReferences", [])
                    if any((owner["kind"], owner["name"]) not in self.objects for owner in owners):
                        del self.objects[key]  # the garbage collector
                for pod in [pod for pod in self._pods.values() if pod.owner not in self.objects]:
                    self._delete(pod)

    def _attend(self, pod: Pod) -> None:
        """What the kubelet does: start, probe, start again, end."""
        if pod.deleted_at is not None:
            if not pod.is_started or not self.node.runs(pod.name):
                del self._pods[pod.name]
            elif time.monotonic() > pod.deleted_at + pod.grace_s:
                self.node.signal(pod.name, signal.SIGKILL)
        elif pod.template["spec"]["containers"][0]["image"] in self.missing:
            pod.lacks_image = True
        elif not pod.is_started:
            for first in pod.template["spec"].get("initContainers", []):
                for name, values in self._make_secrets(first).items():
                    self.node.secrets.setdefault(name, values)
                    self._add("Secret", name, {})
            try:
                self.node.start_pod(pod.name, pod.template)
                pod.is_started = True
            except KeyError:
                pass  # CreateContainerConfigError: a secret is not there yet
        elif pod.owner[0] != "Job":
            if not self.node.runs(pod.name):
                pod.restarts, pod.is_started, pod.is_ready = pod.restarts + 1, False, False
            elif not pod.is_ready:
                pod.is_ready = self.node.probe_pod(pod.name, pod.template, "readinessProbe")

    def _keep(self, key: Key, item: Manifest) -> None:
        """What the controllers of StatefulSets and Deployments do."""
        template, wanted = _template(item), item["spec"].get("replicas", 1)
        item["spec"]["replicas"] = wanted
        is_set = key[0] == "StatefulSet"
        form = _form(template)
        own = {pod.name: pod for pod in self._pods.values() if pod.owner == key}
        names = [f"{key[1]}-{number}" if is_set else f"{key[1]}-{form[:8]}-{number}" for number in range(wanted)]
        for name in sorted(own.keys() - set(names), reverse=True):
            self._delete(own[name])
        old = [own[name] for name in names if name in own and own[name].form != form]
        if old and all(pod.is_ready for pod in own.values() if pod.form == form and pod.name in names):
            self._delete(old[-1])
        if is_set or own.keys() <= set(names):  # a Deployment's old pods go first
            for name in names:
                if name not in own:
                    self._create(name, key, template)
                    for claim in item["spec"].get("volumeClaimTemplates", []):
                        self._add("PersistentVolumeClaim", f"{claim['metadata']['name']}-{name}", {})
        there = [pod for pod in own.values() if pod.deleted_at is None]
        item["status"] = {
            "observedGeneration": item["metadata"]["generation"],
            "replicas": len(own),
            "readyReplicas": sum(pod.is_ready for pod in there),
            "updatedReplicas": sum(pod.form == form for pod in there),
        }

    def _work(self, key: Key, item: Manifest) -> None:
        """What the controller of Jobs does, with its policy for failures."""
        if item.setdefault("status", {}).get("conditions"):
            return
        pod = self._pods.get(key[1])
        if pod is None:
            self._create(key[1], key, _template(item))
        elif pod.is_started and not self.node.runs(pod.name):
            code = self.node.wait(pod.name, 1)
            rules = item["spec"]["podFailurePolicy"]["rules"]
            final = {code for rule in rules for code in rule.get("onExitCodes", {}).get("values", [])}
            if code and code not in final and pod.restarts < item["spec"]["backoffLimit"]:
                pod.restarts, pod.is_started = pod.restarts + 1, False
            else:
                item["status"]["conditions"] = [{"type": "Failed" if code else "Complete", "status": "True"}]

    def _create(self, name: str, owner: Key, template: Manifest) -> None:
        if name not in self._pods:
            self.node.forget(name)
            self._pods[name] = Pod(name, owner, template, f"uid-{next(self._uids)}")

    def _delete(self, pod: Pod) -> None:
        if pod.deleted_at is None:
            pod.deleted_at = time.monotonic()
            if pod.is_started and self.node.runs(pod.name):
                self.node.signal(pod.name, signal.SIGTERM)

    def _add(self, kind: str, name: str, item: Manifest) -> None:
        """Put an object there, as apply does: what it already is stays, but for what the new one says."""
        item["kind"] = kind
        before = self.objects.get((kind, name), {"metadata": {"uid": f"uid-{next(self._uids)}", "generation": 0}})
        metadata = before["metadata"] | item.get("metadata", {}) | {"name": name}
        metadata["generation"] = before["metadata"]["generation"] + 1
        if "spec" in before and "spec" in item and kind in ("StatefulSet", "Deployment"):
            item["spec"].setdefault("replicas", before["spec"]["replicas"])
        self.objects[kind, name] = {**item, "metadata": metadata, "status": before.get("status", {})}

    # -- kubectl --------------------------------------------------------------------------------------

    def _handler(self) -> type[socketserver.StreamRequestHandler]:
        cluster = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                asked = json.loads(self.rfile.readline())
                try:
                    answer = {"code": 0, "out": cluster.call(asked["words"], asked["stdin"]), "err": ""}
                except (KeyError, StopIteration, AssertionError) as error:
                    answer = {"code": 1, "out": "", "err": f"error: {error!r}"}
                self.wfile.write(json.dumps(answer).encode() + b"\n")

        return Handler

    def call(self, words: list[str], stdin: str) -> str:
        """What kubectl prints. A KeyError is its 'not found'."""
        self.calls.append(words)
        assert words[0] == "-n", words
        _, _, verb, *rest = words
        if verb == "exec":
            return self._execute(rest)
        if verb == "version":
            return json.dumps({"serverVersion": {"major": "1", "minor": "33+"}})
        with self._lock:
            if verb == "get":
                return self._get(rest)
            if verb == "logs":
                return "" if rest[0] == "-l" else self.node.output(rest[0])
            if verb == "apply":
                for item in self._read(rest, stdin):
                    self._add(item["kind"], item["metadata"]["name"], item)
            elif verb == "delete":
                self._take_away(rest)
            elif verb == "scale":
                self._changed(rest[0])["spec"]["replicas"] = int(rest[1].removeprefix("--replicas="))
            elif verb == "rollout":
                assert rest[0] == "restart"
                _template(self._changed(rest[1]))["metadata"]["annotations"] = {"restarted": str(next(self._uids))}
            elif verb == "create" and rest[0] == "--raw":
                return self._evict(rest[1].split("/")[-2])
            elif verb == "create":
                self._make_job(rest[1], rest[2].removeprefix("--from="))
            else:
                raise KeyError(verb)
        return ""

    def _get(self, words: list[str]) -> str:
        kind = KINDS.get(words[0], "")
        found = [pod.shown(self._phase(pod)) for pod in self._pods.values()] if kind == "Pod" else []
        found += [item for (its, _), item in self.objects.items() if its == kind]
        if "-l" in words:
            label, _, value = words[words.index("-l") + 1].partition("=")
            found = [item for item in found if item["metadata"].get("labels", {}).get(label) == value]
        elif len(words) > 1 and not words[1].startswith("-"):
            named = [item for item in found if item["metadata"]["name"] == words[1]]
            if not named and "--ignore-not-found" in words:
                return ""
            [item] = named or [self.objects[kind, words[1]]]
            return json.dumps(item)
        return json.dumps({"items": found})

    def _read(self, words: list[str], stdin: str) -> list[Manifest]:
        """The objects that -k or -f names."""
        text = stdin
        if words[0] == "-k":
            built = subprocess.run([self._kubectl, "kustomize", words[1]], capture_output=True, text=True, timeout=60)
            assert built.returncode == 0, built.stderr
            text = built.stdout
        items = [item for item in yaml.safe_load_all(text) if item]
        return [each for item in items for each in item.get("items", [item])]

    def _take_away(self, words: list[str]) -> None:
        """kubectl delete. Claims and secrets are in no file: they stay."""
        if words[0] == "-k":
            for item in self._read(words, ""):
                self.objects.pop((item["kind"], item["metadata"]["name"]), None)
        elif words[0] == "namespace":
            self.objects.clear()
        elif words[0] != "pod":
            self.objects.pop((KINDS[words[0]], words[1]), None)
        elif "--force" in words:
            pod = self._pods[words[1]]
            pod.deleted_at = time.monotonic()
            self.node.signal(pod.name, signal.SIGKILL)
        else:
            self._delete(self._pods[words[1]])

    def _evict(self, name: str) -> str:
        """As the API does it: no more at once than a budget allows."""
        labels = self._pods[name].template["metadata"]["labels"]
        for (kind, _), budget in self.objects.items():
            if kind == "PodDisruptionBudget" and budget["spec"]["selector"]["matchLabels"].items() <= labels.items():
                wanted = budget["spec"]["selector"]["matchLabels"].items()
                own = [each for each in self._pods.values() if wanted <= each.template["metadata"]["labels"].items()]
                away = sum(not each.is_ready or each.deleted_at is not None for each in own)
                assert away < budget["spec"]["maxUnavailable"], "it would violate the pod's disruption budget"
        self._delete(self._pods[name])
        return json.dumps({"status": "Success"})

    def _make_job(self, name: str, source: str) -> None:
        assert ("Job", name) not in self.objects, "AlreadyExists"
        kind, _, template = source.partition("/")
        owner = {"kind": KINDS[kind], "name": template}
        self._add(
            "Job",
            name,
            {
                "metadata": {"ownerReferences": [owner]},
                "spec": copy.deepcopy(self._named(source)["spec"]["jobTemplate"]["spec"]),
            },
        )

    def _phase(self, pod: Pod) -> str:
        conditions = self.objects.get(pod.owner, {}).get("status", {}).get("conditions", [])
        ended = {"Complete": "Succeeded", "Failed": "Failed"}
        return ended[conditions[0]["type"]] if pod.owner[0] == "Job" and conditions else "Running"

    def _changed(self, words: str) -> Manifest:
        item = self._named(words)
        item["metadata"]["generation"] += 1
        return item

    def _named(self, words: str) -> Manifest:
        kind, _, name = words.partition("/")
        return self.objects[KINDS[kind], name]

    def _execute(self, words: list[str]) -> str:
        with self._lock:
            name = words[0].removeprefix("deploy/")
            pod = next(pod for pod in self._pods.values() if pod.owner == ("Deployment", name) and pod.is_started)
        done = self.node.execute_in(pod.name, pod.template, *words[words.index("--") + 1 :])
        assert done.returncode == 0, done.stderr
        return done.stdout


def _template(item: Manifest) -> Manifest:
    template = pod_of(item)
    assert template is not None
    return template


def _form(template: Manifest) -> str:
    """What changes with the template."""
    return hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()


def _default_storage_class() -> dict[str, Any]:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    return {"kind": "StorageClass", "metadata": {"name": "local", "annotations": annotations}}
