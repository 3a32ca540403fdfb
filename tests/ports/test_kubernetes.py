"""Against a server that answers as the Kubernetes API does, with TLS and a service account."""

import http.server
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gcs.errors import GcsError, UsageError
from gcs.ports.kubernetes import Cluster

from .kube_api import Api, new_api, serving


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[tuple[dict[str, str], Path, type[Api]]]:
    """The environment and the account's directory as a pod sees them, and what the API keeps."""
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=api",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "ca.crt")],
        capture_output=True,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl cannot make a certificate here")
    kept = new_api()
    server = http.server.HTTPServer(("127.0.0.1", 0), kept)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "ca.crt", tmp_path / "key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    (tmp_path / "token").write_text("good")
    (tmp_path / "namespace").write_text("gcs")
    port = str(server.server_address[1])
    with serving(server):
        yield {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}, tmp_path, kept


def test_secret_is_made_once(pod: tuple[dict[str, str], Path, type[Api]]) -> None:
    environment, account, kept = pod
    cluster = Cluster.around(environment, account)
    assert cluster.make_secret("space", {"password": "one"})
    assert not cluster.make_secret("space", {"password": "two"})
    assert kept.secrets == {"space": {"password": "one"}}


def test_scale_is_a_patch_of_the_deployment(pod: tuple[dict[str, str], Path, type[Api]]) -> None:
    environment, account, kept = pod
    Cluster.around(environment, account).scale("helper", 8)
    assert kept.scales == {"/apis/apps/v1/namespaces/gcs/deployments/helper/scale": 8}


def test_refusal_is_told(pod: tuple[dict[str, str], Path, type[Api]]) -> None:
    environment, account, _ = pod
    (account / "token").write_text("bad")
    with pytest.raises(GcsError, match="403"):
        Cluster.around(environment, account).scale("helper", 8)


def test_outside_of_a_pod_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--api"):
        Cluster.around({}, tmp_path)
