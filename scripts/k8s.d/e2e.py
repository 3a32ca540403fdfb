"""scripts/k8s-e2e: a deployment's life on a real cluster, step by step.

It ends with 0, with 1 at the first step that fails, with 2 if it cannot begin. Every wait is bounded; --patience makes
the bounds longer for a slow cluster. Whatever happens, the namespace is deleted at the end, unless --keep.
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from cluster import Cluster, FailedError, say
from deployment import PORT, Deployment

EPILOG = """\
The steps: apply; a crawl of a site in a pod beside it, each page once; the same run again; a second session, with more
gatherers, one killed, Redis deleted, a rollout restart, a drain, fewer gatherers; an upgrade; delete -k, and the data
is still there. It takes 5 to 15 minutes. It ends with 0; with 1 at the first step that fails, after what kubectl says
about it; with 2 if it cannot begin. The namespace is deleted at the end, also by Ctrl-C; --keep leaves it.

Images are those that the nodes can pull, or have. Without a registry:
  docker save gcs-crawler:0.1.0 | sudo ctr -n k8s.io images import -      on a node with containerd; k3s ctr on k3s
  kind load docker-image gcs-crawler:0.1.0; minikube image load gcs-crawler:0.1.0
The image to upgrade to may be the same one under another tag: docker tag gcs-crawler:0.1.0 gcs-crawler:0.1.1.

example:
  docker build -f k8s/Dockerfile -t REGISTRY/gcs-crawler:0.1.0 . && docker push REGISTRY/gcs-crawler:0.1.0
  docker tag REGISTRY/gcs-crawler:0.1.0 REGISTRY/gcs-crawler:0.1.1 && docker push REGISTRY/gcs-crawler:0.1.1
  scripts/k8s-e2e --image REGISTRY/gcs-crawler:0.1.0 --next-image REGISTRY/gcs-crawler:0.1.1
"""
READ = f"import sys, urllib.request as r; print(r.urlopen('http://127.0.0.1:{PORT}/-/' + sys.argv[1]).read().decode())"
#: what is there when all is up
WORKLOADS = (("statefulset", "redis"), ("statefulset", "store"), ("deployment", "station"), ("statefulset", "gatherer"))
#: requests that may be made again: under way when a gatherer was killed, lost by Redis, or to compare with a helper's
IN_FLIGHT = 100
#: seconds after which a deleted deployment must be gone, however slow the cluster: gatherers without a whiteboard end
#: within 15 s, one that hangs takes its grace period, 120 s
GONE_S = 100.0


def main() -> int:
    arguments = read_arguments()
    signal.signal(signal.SIGTERM, interrupt)
    deployment = Deployment(
        arguments.namespace,
        arguments.image,
        arguments.storage_class,
        {"redis": arguments.redis_image, "minio/minio": arguments.store_image},
    )
    with tempfile.TemporaryDirectory(prefix="gcs-e2e-") as folder:
        life = Life(deployment, Path(folder), arguments)
        try:
            life.check_cluster()
        except FailedError as problem:
            say(f"cannot begin: {problem}")
            return 2
        try:
            life.run()
        except KeyboardInterrupt:
            say("interrupted")
            return 1
        except Exception as problem:  # an answer of another form, too
            say(f"FAILED: {problem if isinstance(problem, FailedError) else repr(problem)}")
            life.cluster.explain()
            return 1
        finally:
            life.end(arguments.keep)
    say("all is well")
    return 0


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/k8s-e2e",
        description="Runs k8s/ on the cluster of $KUBECONFIG, in a namespace of its own.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--image", default="gcs-crawler:0.1.0", help="the image, as nodes can pull it")
    parser.add_argument("--next-image", default="", help="the image to upgrade to; without it that step is left out")
    parser.add_argument("--redis-image", default="redis:7.4-alpine", help="for a cluster without a way to the registry")
    parser.add_argument("--store-image", default="minio/minio:RELEASE.2025-04-22T22-12-26Z", help="the same")
    parser.add_argument("--storage-class", default="", help="of the volumes [the cluster's default]")
    parser.add_argument("--namespace", default="gcs-e2e", help="made for this, and deleted")
    parser.add_argument("--pages", type=int, default=400, help="of the site, at first")
    parser.add_argument("--patience", type=float, default=1.0, metavar="N", help="N times as long before it gives up")
    parser.add_argument("--keep", action="store_true", help="leave everything there at the end")
    arguments = parser.parse_args()
    if arguments.next_image == arguments.image:
        parser.error("--next-image is --image: give it another tag")
    if arguments.pages < 1 or arguments.patience <= 0:
        parser.error("--pages and --patience are more than 0")
    return arguments


def interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


class Life:
    """The steps, in their order."""

    def __init__(self, deployment: Deployment, folder: Path, arguments: argparse.Namespace) -> None:
        self.cluster = Cluster(deployment.namespace)
        self._deployment, self._folder, self._arguments = deployment, folder, arguments
        self._is_ours = False
        self._session = 0

    def check_cluster(self) -> None:
        """What must be there before anything is made."""
        version = json.loads(self.cluster.run("version", "-o", "json"))["serverVersion"]
        minor = int("".join(digit for digit in version["minor"] if digit.isdigit()))
        if (int(version["major"]), minor) < (1, 27):
            raise FailedError(f"Kubernetes {version['major']}.{minor}: 1.27 or later is needed")
        classes = self.cluster.get("storageclasses")
        default = "storageclass.kubernetes.io/is-default-class"
        defaults = [each for each in classes if each["metadata"].get("annotations", {}).get(default) == "true"]
        if not (defaults or self._arguments.storage_class):
            names = ", ".join(each["metadata"]["name"] for each in classes) or "none"
            advice = "make one the default, or name one with --storage-class"
            raise FailedError(f"there is no default StorageClass (there is: {names}): {advice}")
        name = self._deployment.namespace
        if self.cluster.run("get", "namespace", name, "--ignore-not-found", "-o", "name").strip():
            raise FailedError(
                f"the namespace {name} is there already: kubectl delete namespace {name}, or give --namespace"
            )

    def run(self) -> None:
        self.apply()
        self.crawl()
        self.crawl_again_by_the_same_name()
        self.disturb_the_second_session()
        if self._arguments.next_image:
            self.upgrade()
        else:
            say("left out: the upgrade (give --next-image)")
        self.delete_and_come_back()

    # -- the steps ------------------------------------------------------------------------------------

    def apply(self) -> None:
        say("== apply")
        self._is_ours = True
        self.cluster.run("apply", "-f", "-", stdin=self._deployment.make_namespace())
        self.cluster.run("apply", "-f", "-", stdin=self._deployment.make_site(self._arguments.pages))
        self._apply(self._deployment)
        self._up(600)
        self.cluster.run("scale", "deployment/helper", "--replicas=0")  # some of a helper's pages are asked for again
        self._wait("the site answers", lambda: self._facts()["pages"], 300)
        say("all pods are ready")

    def crawl(self) -> None:
        say("== the first crawl")
        self._begin("first")
        report = self._end("first")
        self._check(report, again=0)
        self._not_restarted("gatherer", "station", "redis", "store")
        found = self._execute("gcs", "search", "s3://gcs/crawl", "stands on page")
        _need("/tree/" in found or "/chain/" in found, f"gcs search found nothing: {found[:300]}")

    def crawl_again_by_the_same_name(self) -> None:
        say("== the same run again: nobody is asked")
        self._facts("reset")
        self._begin("first", is_new=False)
        report = self._end("first")
        _need(report["state"] == "done" and not self._facts()["asked"], "a run that was over asked for pages again")

    def disturb_the_second_session(self) -> None:
        say("== the second session; meanwhile a helper helps, gatherers come, are killed, restarted and go")
        self.cluster.run("scale", "deployment/helper", "--replicas=1")
        self._facts("reset")
        self._facts("grow")
        self._begin("second")
        self._fetching()
        self.cluster.run("scale", "statefulset/gatherer", "--replicas=3")
        self._wait("a third gatherer", lambda: self.cluster.is_ready("statefulset", "gatherer"), 300)
        say("three gatherers; one is killed")
        before = self._uid("gatherer-0")
        self.cluster.run("delete", "pod", "gatherer-0", "--force", "--grace-period=0", "--wait=false")
        self._wait("the killed gatherer is back", lambda: self._uid("gatherer-0") not in ("", before), 300)
        self._up(300)
        self._fetching()
        say("the whiteboard's pod is deleted")
        before = self._uid("redis-0")
        self.cluster.run("delete", "pod", "redis-0", "--wait=false")
        self._wait("the whiteboard is back", lambda: self._uid("redis-0") not in ("", before), 300)
        self._up(300)
        self._fetching()
        rows = self._rows()
        _need(any(row["session"] == 1 for row in rows), "the first session cannot be read while the second runs")
        say("gatherers are restarted, one after the other")
        self.cluster.run("rollout", "restart", "statefulset/gatherer")
        self._wait("the rollout", lambda: self.cluster.is_ready("statefulset", "gatherer"), 900)
        self._fetching()
        say("a node is drained: gatherers go one at a time")
        before = self._uid("gatherer-0")
        self._wait("a gatherer may go", lambda: self.cluster.evict("gatherer-0"), 120)
        _need(not self.cluster.evict("gatherer-1"), "two gatherers were let go at once, in spite of the budget")
        self._wait("the gatherer is back", lambda: self._uid("gatherer-0") not in ("", before), 300)
        self._up(300)
        self._fetching()
        say("back to two gatherers")
        self.cluster.run("scale", "statefulset/gatherer", "--replicas=2")
        self._wait("two gatherers", lambda: set(self.cluster.pods("gatherer")) == {"gatherer-0", "gatherer-1"}, 300)
        self._fetching()
        self._facts("stop")
        self._check(self._end("second"), again=IN_FLIGHT)
        self._wait("the helper is there", lambda: self.cluster.is_ready("deployment", "helper"), 120)
        self._not_restarted("helper")

    def upgrade(self) -> None:
        say(f"== upgrade to {self._arguments.next_image} while it crawls")
        self._facts("reset")
        self._facts("grow")
        self._begin("third")
        self._fetching()
        self._deployment = replace(self._deployment, image=self._arguments.next_image)
        self._apply(self._deployment)
        self._up(900)
        self._wait("the helper is replaced", lambda: self.cluster.is_ready("deployment", "helper"), 300)
        images = {
            container["image"]
            for component in ("gatherer", "station", "helper")
            for pod in self.cluster.pods(component).values()
            for container in pod["spec"]["containers"]
        }
        _need(images == {self._arguments.next_image}, f"images after the upgrade: {images}")
        self._fetching()
        self._facts("stop")
        self._check(self._end("third"), again=IN_FLIGHT)

    def delete_and_come_back(self) -> None:
        say("== delete -k while it crawls")
        before = self._rows()
        claims, secrets = self._uids("pvc"), self._uids("secret", "gcs-")  # others: of accounts
        self._facts("reset")
        self._facts("grow")
        self._begin("last")
        self._fetching()
        began_at = time.monotonic()
        self.cluster.run("delete", "-k", str(self._folder), "--wait=false", "--ignore-not-found")
        self.cluster.wait("all pods are gone", self._is_gone, GONE_S)
        say(f"all pods were gone after {time.monotonic() - began_at:.0f} s")
        _need(self._uids("pvc") == claims, "claims went with the deployment: the data is lost")
        _need(self._uids("secret", "gcs-") == secrets, "secrets went with the deployment")
        say("== apply again: the data is there, and the crawl goes on")
        self._apply(self._deployment)
        self._up(600)
        after = {_key(row) for row in self._rows()}
        _need({_key(row) for row in before} <= after, "records are missing after delete and apply")
        self._begin("last", is_new=False)
        self._fetching()
        self._facts("stop")
        self._check(self._end("last"), again=IN_FLIGHT)

    def end(self, keep: bool) -> None:
        """Take away what was made."""
        if not self._is_ours:
            return
        if keep:
            say(f"everything is left in the namespace {self._deployment.namespace}")
            return
        say("== clean up")
        try:
            self.cluster.run("delete", "namespace", self._deployment.namespace, "--timeout=300s", within_s=330)
        except FailedError as problem:
            say(f"{problem}; by hand: kubectl delete namespace {self._deployment.namespace}")

    # -- their parts ----------------------------------------------------------------------------------

    def _wait(self, what: str, true: Any, within_s: float) -> Any:
        return self.cluster.wait(what, true, within_s * self._arguments.patience)

    def _apply(self, deployment: Deployment) -> None:
        self.cluster.run("apply", "-k", str(deployment.write(self._folder)))

    def _up(self, within_s: float) -> None:
        for kind, name in WORKLOADS:
            self._wait(f"{kind}/{name} is ready", lambda: self.cluster.is_ready(kind, name), within_s)  # noqa: B023

    def _begin(self, run: str, is_new: bool = True) -> None:
        self._session += is_new
        if not is_new:  # a job goes with its template; where it has not yet, it has to now
            self.cluster.run("delete", "job", run, "--ignore-not-found", "--wait=true")
        self.cluster.run("create", "job", run, "--from=cronjob/crawl")

    def _not_restarted(self, *components: str) -> None:
        """What ends when a crawl ends would be started again and again."""
        restarts = {
            name: status["restartCount"]
            for component in components
            for name, pod in self.cluster.pods(component).items()
            for status in pod["status"]["containerStatuses"]
        }
        _need(bool(restarts) and not any(restarts.values()), f"containers were started again: {restarts}")

    def _fetching(self) -> None:
        """The crawl asks for pages that it has not asked for before."""
        before = len(self._facts()["asked"])
        self._wait("the crawl goes on", lambda: len(self._facts()["asked"]) > before, 300)

    def _end(self, run: str) -> dict[str, Any]:
        """Wait for the run's end; its report."""

        def ended() -> str:
            [job] = self.cluster.get("job", run)
            conditions = job.get("status", {}).get("conditions", [])
            return next(
                (
                    each["type"]
                    for each in conditions
                    if each["status"] == "True" and each["type"] in ("Complete", "Failed")
                ),
                "",
            )

        outcome = self._wait(f"the run {run} ends", ended, 900)
        pods = self.cluster.get("pods", "-l", f"job-name={run}")  # several, if one had to be started again
        logs = "".join(
            self.cluster.run("logs", pod["metadata"]["name"], "--tail=-1")
            for pod in pods
            if outcome == "Failed" or pod["status"]["phase"] == "Succeeded"
        )
        _need(outcome == "Complete", f"the run {run} has failed: {logs[-1500:]}")
        report = json.loads(next((line for line in reversed(logs.splitlines()) if line.startswith("{")), "{}"))
        _need("state" in report, f"the run {run} has printed no report: {logs[-1500:]}")
        figures = ", ".join(f"{report[name]} {name}" for name in ("pages", "revisits", "helpers"))
        say(f"{run}: {report['state']}, {figures}")
        return dict(report)

    def _check(self, report: dict[str, Any], again: int) -> None:
        """The report says done, and the store holds every page once; `again`: so many requests may have been repeated.

        A gatherer that is killed has asked for some pages whose records it has not written: those are asked for again.
        """
        _need(
            (report["state"], report["overlap"]) == ("done", 0.0),
            f"the report: {report['state']}, overlap {report['overlap']}",
        )
        facts = self._facts()
        pages = set(facts["pages"])

        def stored() -> Counter[str]:
            return Counter(row["url"] for row in self._rows() if row["session"] == self._session and not row["failure"])

        found = self._wait("all pages are in the store", lambda: (found := stored()).keys() >= pages and found, 180)
        _need(set(found) == pages, f"pages of no site: {sorted(set(found) - pages)[:5]}")
        _need(set(found.values()) == {1}, f"stored twice: {[url for url, count in found.items() if count > 1][:5]}")
        asked = facts["asked"]
        _need(set(asked) == pages, f"not asked for: {sorted(pages - set(asked))[:5]}")
        repeated = sum(count - 1 for count in asked.values())
        twice = sorted(url for url, count in asked.items() if count > 1)
        _need(repeated <= again, f"{repeated} requests were made again, such as {twice[:5]}")
        say(f"{len(pages)} pages, each stored once; {repeated} requests were made again")

    def _rows(self) -> list[dict[str, Any]]:
        """All records in the store, as a person gets them."""
        words = ("gcs", "export", "s3://gcs/crawl", "--fields", "url,session,failure")
        return [json.loads(line) for line in self._execute(*words).splitlines()]

    def _execute(self, *words: str) -> str:
        return self.cluster.execute("deploy/station", *words, within_s=300)

    def _facts(self, order: str = "facts") -> dict[str, Any]:
        """What the site knows, after an order."""
        facts = self.cluster.execute("deploy/web", "python3", "-c", READ, order)
        return dict(json.loads(facts))

    def _is_gone(self) -> bool:
        """Whether only the site runs, and what has ended."""
        pods = [pod for pod in self.cluster.get("pods") if pod["status"].get("phase") not in ("Succeeded", "Failed")]
        return all(pod["metadata"]["name"].startswith("web-") for pod in pods)

    def _uid(self, pod: str) -> str:
        return next(
            (each["metadata"]["uid"] for each in self.cluster.get("pods") if each["metadata"]["name"] == pod), ""
        )

    def _uids(self, kind: str, begin: str = "") -> set[str]:
        objects = [each["metadata"] for each in self.cluster.get(kind)]
        return {each["uid"] for each in objects if each["name"].startswith(begin)}


def _need(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise FailedError(otherwise)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["url"], row["session"], row["failure"]


if __name__ == "__main__":
    sys.exit(main())
