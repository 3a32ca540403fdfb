"""What the manifests of GCS ask of the Kubernetes API, from inside of a pod: make a secret once, scale a Deployment.

So the manifests need no kubectl image beside the image of GCS, which would be one more thing to trust and to update.
"""

import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gcs.errors import GcsError, UsageError

#: where a pod finds what its service account may use
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
#: seconds for one call
TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """The API server of one namespace, as one service account sees it."""

    url: str
    namespace: str
    token: str = ""
    ca_file: str | None = None

    @classmethod
    def around(cls, environment: Mapping[str, str], account: Path = ACCOUNT) -> "Cluster":
        """The cluster that this pod runs in."""
        host = environment.get("KUBERNETES_SERVICE_HOST")
        if not host or not (account / "token").exists():
            raise UsageError("this is not a pod with a service account: give --api URL, or run it in the cluster")
        place = f"[{host}]" if ":" in host else host
        url = f"https://{place}:{environment.get('KUBERNETES_SERVICE_PORT', '443')}"
        namespace = environment.get("KUBE_NAMESPACE") or (account / "namespace").read_text()
        return cls(url, namespace, (account / "token").read_text(), str(account / "ca.crt"))

    def make_secret(self, name: str, values: Mapping[str, str]) -> bool:
        """Make a secret; one that is there is left alone. Whether it was made."""
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
        status = self._call("POST", f"/api/v1/namespaces/{self.namespace}/secrets", body, "application/json")
        return status != 409

    def scale(self, deployment: str, replicas: int) -> None:
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{deployment}/scale"
        if self._call("PATCH", path, {"spec": {"replicas": replicas}}, "application/merge-patch+json") == 409:
            raise GcsError(f"deployment {deployment}: somebody else changed it at the same moment; try again")

    def _call(self, method: str, path: str, body: dict[str, Any], content_type: str) -> int:
        """The status, if it is 2xx or 409 (a conflict, which has a meaning for the caller)."""
        headers = {"content-type": content_type, "accept": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(  # noqa: S310 (the address is the cluster's, or the user's own --api)
            self.url + path, json.dumps(body).encode(), headers, method=method
        )
        context = ssl.create_default_context(cafile=self.ca_file) if self.url.startswith("https") else None
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context) as answer:  # noqa: S310
                return int(answer.status)
        except urllib.error.HTTPError as error:
            if error.code == 409:
                return 409
            said = error.read(2000).decode("utf-8", "replace")
            raise GcsError(f"{method} {path}: the Kubernetes API answered {error.code}: {said}") from None
        except OSError as error:
            raise GcsError(f"the Kubernetes API at {self.url} cannot be reached: {error}") from None
