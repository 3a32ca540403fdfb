"""A cluster, by kubectl: every call and every wait is bounded, and what fails says what it was waiting for."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

Object = dict[str, Any]
#: seconds for one call of kubectl, and between two looks
CALL_S, LOOK_S = 120.0, 2.0


class FailedError(Exception):
    """Something is not as it should be."""


def say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


class Cluster:
    """One namespace of the cluster that $KUBECONFIG names."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

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
            except (FailedError, KeyError, ValueError) as error:
                last = f" ({error})"
            if time.monotonic() > give_up_at:
                raise FailedError(f"not within {within_s:.0f} s: {what}{last}")
            time.sleep(LOOK_S)

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
        return wanted == status.get("readyReplicas", 0) == status.get("updatedReplicas", 0) == status.get("replicas", 0)

    def execute(self, pod: str, *words: str, within_s: float = CALL_S) -> str:
        """What a command prints in a pod."""
        return self.run("exec", pod, "--", *words, within_s=within_s)

    def explain(self) -> None:
        """Print what a person looks at first when something fails."""
        for words in (["get", "pods", "-o", "wide"], ["get", "events", "--sort-by=.lastTimestamp"]):
            print("\n".join(self.run(*words, fails=True).splitlines()[-25:]), file=sys.stderr)
        for component in ("gatherer", "station", "crawl"):
            words = ["logs", "-l", f"app.kubernetes.io/component={component}", "--tail=15", "--prefix"]
            print(self.run(*words, fails=True), file=sys.stderr)
