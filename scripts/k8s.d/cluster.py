"""A cluster, by kubectl: every call and every wait is bounded, and what fails says what it was waiting for."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

Object = dict[str, Any]
#: seconds for one call of kubectl, between two looks, and that a command in a pod is tried again
CALL_S, LOOK_S, AGAIN_S = 120.0, 2.0, 60.0
#: why a container waits that no waiting helps, and seconds after which that is believed: the kubelet tries again
HOPELESS, HOPELESS_S = {"ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"}, 60.0


class FailedError(Exception):
    """Something is not as it should be."""


class HopelessError(FailedError):
    """Something will not be as it should be, however long one waits."""


def say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


class Cluster:
    """One namespace of the cluster that $KUBECONFIG names."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._hopeless_since: float | None = None

    def run(self, *words: str, stdin: str = "", within_s: float = CALL_S, fails: bool = False) -> str:
        """What kubectl prints. `fails`: it may; what it says is returned then, too."""
        command = ["kubectl", "-n", self.namespace, *words]
        try:
            done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=within_s)
        except subprocess.TimeoutExpired:
            raise FailedError(f"kubectl {' '.join(words)} took longer than {within_s:.0f} s") from None
        if done.returncode and not fails:
            raise FailedError(f"kubectl {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
        return done.stdout if not done.returncode else done.stdout + done.stderr

    def get(self, *words: str) -> list[Object]:
        """Objects: `get pods`, `get pods -l …`."""
        found = json.loads(self.run("get", *words, "-o", "json"))
        return list(found["items"]) if "items" in found else [found]

    def wait(self, what: str, true: Callable[[], Any], within_s: float) -> Any:
        """Look until it is so; its value. A call that fails meanwhile counts as not yet: an API server may be busy."""
        give_up_at, last = time.monotonic() + within_s, ""
        while True:
            try:
                if value := true():
                    return value
                self._look_for_images()
            except HopelessError:
                raise
            except (FailedError, KeyError, ValueError) as error:
                last = f" ({error})"
            if time.monotonic() > give_up_at:
                raise FailedError(f"not within {within_s:.0f} s: {what}{last}")
            time.sleep(LOOK_S)

    def _look_for_images(self) -> None:
        """An image that cannot be had is told at once, not after minutes."""
        missing = {
            f"{status['image']} ({waits['reason']}: {waits.get('message', '')})"
            for pod in self.get("pods")
            for part in ("initContainerStatuses", "containerStatuses")
            for status in pod["status"].get(part, [])
            if (waits := status.get("state", {}).get("waiting", {})).get("reason") in HOPELESS
        }
        if not missing:
            self._hopeless_since = None
        elif self._hopeless_since is None:
            self._hopeless_since = time.monotonic()
        elif time.monotonic() > self._hopeless_since + HOPELESS_S:
            raise HopelessError(
                f"no node gets the image {'; '.join(sorted(missing))}; --help says how to bring it there"
            )

    def pods(self, component: str) -> dict[str, Object]:
        """The pods of a component that nobody has deleted, by name."""
        pods = self.get("pods", "-l", f"app.kubernetes.io/component={component}")
        return {pod["metadata"]["name"]: pod for pod in pods if "deletionTimestamp" not in pod["metadata"]}

    def is_ready(self, kind: str, name: str) -> bool:
        """Whether all replicas of a workload are there, ready, and as the newest template says."""
        [found] = self.get(kind, name)
        wanted, status = found["spec"].get("replicas", 1), found.get("status", {})
        if status.get("observedGeneration", 0) < found["metadata"].get("generation", 0):
            return False
        return bool(
            wanted == status.get("readyReplicas", 0) == status.get("updatedReplicas", 0) == status.get("replicas", 0)
        )

    def execute(self, pod: str, *words: str, within_s: float = CALL_S) -> str:
        """What a command prints in a pod; again if it fails: the pod may be just replaced. It must bear repetition."""

        def printed() -> tuple[str]:
            return (self.run("exec", pod, "--", *words, within_s=within_s),)

        return str(self.wait(f"{words[0]} in {pod}", printed, AGAIN_S)[0])

    def evict(self, pod: str) -> bool:
        """What the drain of a node asks for; whether the budget allows it now."""
        metadata = {"name": pod, "namespace": self.namespace}
        eviction = json.dumps({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata})
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}/eviction"
        said = self.run("create", "--raw", path, "-f", "-", stdin=eviction, fails=True)
        if not ("disruption budget" in said or "Success" in said):
            raise FailedError(f"the eviction of {pod}: {said}")
        return "Success" in said

    def explain(self) -> None:
        """Print what a person looks at first when something fails."""
        looks = [["get", "pods", "-o", "wide"], ["get", "jobs,pvc"], ["get", "events", "--sort-by=.lastTimestamp"]]
        looks += [
            ["logs", "-l", f"app.kubernetes.io/component={component}", "--all-containers", "--tail=15", "--prefix"]
            for component in ("gatherer", "station", "crawl", "redis", "store")
        ]
        for words in looks:
            try:
                said = self.run(*words, fails=True)
            except FailedError as problem:
                said = str(problem)
            print(
                f"-- kubectl -n {self.namespace} {' '.join(words)}", *said.splitlines()[-40:], sep="\n", file=sys.stderr
            )
