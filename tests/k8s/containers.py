"""A node that runs the containers of built manifests by podman, from the image that k8s/Dockerfile makes.

As the node of processes, but with what only an image can show: its own root, its programs, its size, and that it runs
read-only, without rights, as the manifest's user. Each pod has volumes of its own (podman itself would share those of a
name). All pods share a network namespace, as there.

scripts/k8s-image-test builds the image, and says in GCS_TEST_PODMAN how podman is called.
"""

import os
import shlex
import subprocess
from pathlib import Path

from .manifests import Manifest
from .node import Node, ids_of

#: how podman is called, and the arguments that its containers take on this machine
VARIABLE, ARGUMENTS = "GCS_TEST_PODMAN", "GCS_TEST_PODMAN_RUN"


def podman(*words: str) -> str:
    """What podman prints."""
    called = [*shlex.split(os.environ[VARIABLE]), *words]
    done = subprocess.run(called, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


class ContainerNode(Node):
    """One node, one overlay, containers."""

    def __init__(self, directory: Path, target: str) -> None:
        super().__init__(directory, target)
        self._names: set[str] = set()

    def _wrapped(
        self, pod: str, template: Manifest, own: dict[str, str], volumes: dict[str, Path], command: list[str]
    ) -> list[str]:
        [container] = template["spec"]["containers"]
        context = container["securityContext"]
        assert context["capabilities"] == {"drop": ["ALL"]} and not context["allowPrivilegeEscalation"]
        words = [*shlex.split(os.environ[VARIABLE]), "run", "--rm", "--replace", "--name", self._name(pod)]
        words += [*shlex.split(os.environ.get(ARGUMENTS, "")), "--pull", "never", "--network", "host", "--no-hosts"]
        words += [
            "--cap-drop",
            "all",
            "--security-opt",
            "no-new-privileges",
            "--user",
            ":".join(map(str, ids_of(template))),
        ]
        words += ["--read-only", "--read-only-tmpfs=false"] if context["readOnlyRootFilesystem"] else []
        words += ["-v", f"{self._directory / 'hosts'}:/etc/hosts:ro"]
        words += [word for path, place in volumes.items() for word in ("-v", f"{place}:{path}")]
        words += [word for name, value in own.items() for word in ("-e", f"{name}={value}")]
        self._names.add(self._name(pod))
        return [*words, "--entrypoint", command[0], container["image"], *command[1:]]

    def _environment(self, container: Manifest, pod: str) -> dict[str, str]:
        return {name: value for name, value in super()._environment(container, pod).items() if "PATH" not in name}

    def _own(self, own: dict[str, str]) -> dict[str, str]:
        return dict(os.environ)

    def _inside(self, pod: str) -> list[str]:
        return [*shlex.split(os.environ[VARIABLE]), "exec", self._name(pod)]

    def _name(self, pod: str) -> str:
        return f"{self._space}-{pod}"

    def close(self) -> None:
        podman("rm", "--force", "--ignore", "--time", "5", *self._names)
        super().close()
