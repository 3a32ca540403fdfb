"""A node without a cluster: runs the containers of built manifests as processes, with what Kubernetes would give them.

A pod's processes get exactly the command, the arguments, the environment and the user of the manifest. What the kubelet
does is done with Linux' own means: names of Services stand in /etc/hosts, volumes are mounted where the manifest says,
the rest of the file system is read-only where it says so (a mount namespace for each pod), and all share a network of
their own (a network namespace), so that the ports are free. Root only.

Invariant: whatever happens, namespaces and processes are gone after `close`.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from gcs.fakeweb import FakeWebSpec, RequestLog, Web

from .manifests import Manifest, named, pod_of

#: holds gcs and the environment that it is installed in
CHECKOUT = Path(__file__).parents[2]
#: programs under the names of those that the images of others hold, and no package brings
STAND_INS = Path(__file__).parent / "stand_ins"
READ = (
    "import sys, urllib.request as r; url, *token = sys.argv[1:];"
    "request = r.Request(url, headers={'authorization': 'Bearer ' + token[0]} if token else {});"
    "sys.stdout.buffer.write(r.urlopen(request, timeout=20).read())"
)
#: a root of its own over ours, with the volumes of $1 (lines of "source target") and the hosts of $3, read-only if $2
#: says so, and open to others where $5 says so (the image would be); then it becomes the command, as the user $4
MOUNT = """
set -e
mount --make-rprivate /
mount -t tmpfs pod /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay pod -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
for part in dev proc sys; do mount --rbind "/$part" "/mnt/root/$part"; done
mkdir -p /mnt/root/etc && cp "$3" /mnt/root/etc/hosts
for place in $5; do chmod o+x "/mnt/root$place"; done
while read -r source target; do mkdir -p "/mnt/root$target"; mount --bind "$source" "/mnt/root$target"; done < "$1"
if [ "$2" = ro ]; then mount -o remount,ro /mnt/root; fi
exec chroot --userspec="$4" /mnt/root "${@:6}"
"""


def why_not() -> str:
    """Why this cannot be done here; "" if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "mount and network namespaces need Linux and root"
    for program in ("ip", "unshare", "redis-server", "kubectl"):
        if not shutil.which(program):
            return f"the program {program} is not installed"
    allowed = subprocess.run(["unshare", "--net", "--mount", "mount", "--make-rprivate", "/"], capture_output=True)
    return "namespaces are not allowed here" if allowed.returncode else ""


class Node:
    """One node, one overlay."""

    def __init__(self, directory: Path, target: str, hosts: str = "redis station store") -> None:
        """`hosts`: names of Services."""
        self._directory, self._target = directory, target
        self._space = f"gcs{os.getpid()}k"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.secrets: dict[str, dict[str, str]] = {}
        (directory / "hosts").write_text(f"127.0.0.1 localhost {hosts}\n")
        _ip("netns", "add", self._space)
        _ip("netns", "exec", self._space, "ip", "link", "set", "lo", "up")

    # -- pods ------------------------------------------------------------------------------------------

    def start(self, kind: str, name: str, pod: str, more: dict[str, str] | None = None, *words: str) -> None:
        """Start the only container of a workload as the pod `pod`; `more` is the environment that an overlay adds."""
        template = pod_of(named(self._target, kind, name))
        assert template is not None
        self.start_pod(pod, template, more, *words)

    def start_pod(self, pod: str, template: Manifest, more: dict[str, str] | None = None, *words: str) -> None:
        """Start the only container of a template."""
        [container] = template["spec"]["containers"]
        own = self._environment(container, pod) | (more or {})
        command = [_expand(word, own) for word in [*container["command"], *container.get("args", [])]]
        volumes = {
            mount["mountPath"]: self._volume(mount, pod, template) for mount in container.get("volumeMounts", [])
        }
        for place in volumes.values():
            shutil.chown(place, *ids_of(template))  # fsGroup; and an emptyDir is anybody's
        self._run(pod, self._wrapped(pod, template, own, volumes, [*command, *words]), self._own(own))

    def _wrapped(
        self, pod: str, template: Manifest, own: dict[str, str], volumes: dict[str, Path], command: list[str]
    ) -> list[str]:
        """What runs a command as the container of a pod; `own` is its environment, `volumes`: by their paths in it."""
        [container] = template["spec"]["containers"]
        tight = container["securityContext"]["readOnlyRootFilesystem"]
        mounts = self._directory / f"{pod}.mounts"
        if any(CHECKOUT.is_relative_to(place) for place in volumes):
            volumes = {**volumes, str(CHECKOUT): CHECKOUT}  # a volume hides it: /tmp, for one
        mounts.write_text("".join(f"{source} {place}\n" for place, source in volumes.items()))
        wrapped = ["unshare", "--mount", "bash", "-c", MOUNT, "pod", str(mounts), "ro" if tight else "rw"]
        user = ":".join(map(str, ids_of(template)))
        return [*wrapped, str(self._directory / "hosts"), user, " ".join(_closed_ways()), *command]

    def _own(self, own: dict[str, str]) -> dict[str, str]:
        """The environment of what `_wrapped` says."""
        return own

    def _environment(self, container: Manifest, pod: str) -> dict[str, str]:
        """The variables that the manifest gives, and where the programs are."""
        own = {"PATH": f"{STAND_INS}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
        if "PYTHONPATH" in os.environ:
            own["PYTHONPATH"] = os.environ["PYTHONPATH"]
        for source in container.get("envFrom", []):
            own |= self.secrets.get(source["secretRef"]["name"], {})
        return own | {each["name"]: self._value(each, pod) for each in container.get("env", [])}

    def _value(self, variable: Manifest, pod: str) -> str:
        if "value" in variable:
            return str(variable["value"])
        source = variable["valueFrom"]
        if "fieldRef" in source:
            known = {"metadata.name": pod, "metadata.namespace": "gcs", "metadata.labels['job-name']": pod}
            return known[source["fieldRef"]["fieldPath"]]
        reference = source["secretKeyRef"]
        return self.secrets[reference["name"]][reference["key"]]

    def _volume(self, mount: Manifest, pod: str, template: Manifest) -> Path:
        """A directory for a volume: it stays when the pod goes and comes again, as a claim does."""
        place = self._directory / "volumes" / pod / mount["name"]
        place.mkdir(parents=True, exist_ok=True)
        for volume in template["spec"].get("volumes", []):
            if volume["name"] == mount["name"] and "configMap" in volume:
                for name, text in self.config(volume["configMap"]["name"]).items():
                    (place / name).write_text(text)
        return place

    def config(self, name: str) -> dict[str, str]:
        """The files of a ConfigMap."""
        return dict(named(self._target, "ConfigMap", name)["data"])

    def probe(self, kind: str, name: str, pod: str, which: str) -> bool:
        """Ask a pod's probe."""
        template = pod_of(named(self._target, kind, name))
        assert template is not None
        return self.probe_pod(pod, template, which)

    def probe_pod(self, pod: str, template: Manifest, which: str) -> bool:
        """Ask the probe of a template."""
        [container] = template["spec"]["containers"]
        if "tcpSocket" in container[which]:
            [port] = [
                p["containerPort"] for p in container["ports"] if p["name"] == container[which]["tcpSocket"]["port"]
            ]
            connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
            words = [sys.executable, "-c", connect]
        elif "httpGet" in container[which]:
            port = {each["name"]: each["containerPort"] for each in container["ports"]}[
                container[which]["httpGet"]["port"]
            ]
            words = [sys.executable, "-c", READ, f"http://127.0.0.1:{port}{container[which]['httpGet']['path']}"]
        else:
            words = [*self._inside(pod), *container[which]["exec"]["command"]]
        own = {each["name"]: self._value(each, pod) for each in container.get("env", [])}
        inside = ["ip", "netns", "exec", self._space, *words]
        return subprocess.run(inside, env=os.environ | own, capture_output=True, timeout=60).returncode == 0

    def execute(self, pod: str, kind: str, name: str, *words: str) -> str:
        """What a command prints, run in a pod as `kubectl exec` would."""
        template = pod_of(named(self._target, kind, name))
        assert template is not None
        done = self.execute_in(pod, template, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def execute_in(self, pod: str, template: Manifest, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a pod of a template."""
        own = self._environment(template["spec"]["containers"][0], pod)
        inside = ["ip", "netns", "exec", self._space, *self._inside(pod), *words]
        return subprocess.run(inside, env=self._own(own), capture_output=True, text=True, timeout=120)

    def _inside(self, pod: str) -> list[str]:
        """What runs a command in a pod."""
        return ["nsenter", "-t", str(self._processes[pod].pid), "-m", "-r"]

    def wait(self, pod: str, timeout_s: float) -> int:
        """Wait for a pod to end; its exit code."""
        return self._processes[pod].wait(timeout_s)

    def runs(self, pod: str) -> bool:
        """Whether a pod's process is there."""
        return self._processes[pod].poll() is None

    def terminate(self, pod: str, grace_s: float) -> int:
        """As Kubernetes ends a pod: SIGTERM, and after the grace period (which must not end here) SIGKILL."""
        self._processes[pod].send_signal(signal.SIGTERM)
        return self._processes[pod].wait(grace_s)

    def output(self, pod: str) -> str:
        """What a pod has printed."""
        return (self._directory / f"{pod}.out").read_text()

    def messages(self, pod: str) -> str:
        """What a pod has logged."""
        return (self._directory / f"{pod}.err").read_text()

    def disk(self, pod: str, volume: str = "data") -> Path:
        """A pod's volume."""
        return self._directory / "volumes" / pod / volume

    # -- the web ---------------------------------------------------------------------------------------

    def serve(self, spec: FakeWebSpec, port: int = 8080) -> Web:
        """A fake web on this node."""
        words = [
            sys.executable,
            "-m",
            "gcs.fakeweb.server",
            "--spec",
            json.dumps(asdict(spec)),
            "--port",
            str(port),
        ]
        process = self._run("web", words, dict(os.environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout
        self._control_port = json.loads(process.stdout.readline())["control_port"]
        return Web(spec, port)

    def requests(self) -> RequestLog:
        """What was asked of the web."""
        where = f"http://127.0.0.1:{self._control_port}/__log"
        words = ["ip", "netns", "exec", self._space, sys.executable, "-c", READ, where]
        return msgspec.json.decode(subprocess.run(words, check=True, capture_output=True).stdout, type=RequestLog)

    def fetch(self, url: str, token: str) -> bytes:
        """GET something of the station."""
        words = ["ip", "netns", "exec", self._space, sys.executable, "-c", READ, url, token]
        return subprocess.run(words, check=True, capture_output=True, timeout=60).stdout

    # -- the end ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """End everything."""
        for process in self._processes.values():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
        _ip("netns", "del", self._space)

    def _run(self, name: str, words: list[str], environment: dict[str, str], **pipes: Any) -> subprocess.Popen[bytes]:
        with (self._directory / f"{name}.out").open("ab") as out, (self._directory / f"{name}.err").open("ab") as err:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self._space, *words],
                env=environment,
                **({"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err} | pipes),
            )
        self._processes[name] = process
        return process


def ids_of(template: Manifest) -> tuple[int, int]:
    """The user and the group that a pod runs as."""
    context = template["spec"]["securityContext"]
    return context["runAsUser"], context["runAsGroup"]


def _closed_ways() -> list[str]:
    """Folders above our Python and our code that other users may not pass, such as /root."""
    ways = {each for path in (Path(sys.executable).resolve(), CHECKOUT) for each in path.parents}
    return [str(way) for way in sorted(ways) if not way.stat().st_mode & 0o001]


def _expand(word: str, environment: dict[str, str]) -> str:
    """$(NAME), as the kubelet expands it."""
    for name, value in environment.items():
        word = word.replace(f"$({name})", value)
    return word


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
