"""`gcs kube`: what the jobs in k8s/ do at the Kubernetes API. Nobody needs it outside of a pod."""

import os
import re
import secrets as chance
from collections import defaultdict

import click

from gcs.app.say import say
from gcs.errors import UsageError
from gcs.ports.kubernetes import Cluster

_ENTRY = re.compile(r"(?P<secret>[a-z0-9.-]+):(?P<key>[A-Za-z0-9._-]+)=(?P<value>.*)", re.DOTALL)
_RANDOM = re.compile(r"\{random(:\w+)?\}")


@click.group()
@click.option("--api", metavar="URL", help="Address of the API. [the one of the cluster that this pod runs in]")
@click.option("--namespace", envvar="KUBE_NAMESPACE", default="gcs", show_default=True, help="Only with --api.")
@click.pass_context
def kube(context: click.Context, api: str | None, namespace: str) -> None:
    """Make secrets and scale helpers from inside of a Kubernetes cluster; see k8s/."""
    context.obj = Cluster(api.rstrip("/"), namespace) if api else Cluster.around(os.environ)


@kube.command()
@click.argument("entries", nargs=-1, required=True, metavar="SECRET:KEY=VALUE…")
@click.pass_obj
def secrets(cluster: Cluster, entries: tuple[str, ...]) -> None:
    """Make secrets that are not there yet; {random} in a VALUE is one random word per SECRET, {random:NAME} another."""
    values: dict[str, dict[str, str]] = {}
    words: defaultdict[str, str] = defaultdict(lambda: chance.token_urlsafe(32))
    for entry in entries:
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise UsageError(f"'{entry}' is not of the form SECRET:KEY=VALUE")
        secret, key, value = match["secret"], match["key"], match["value"]
        values.setdefault(secret, {})[key] = _RANDOM.sub(lambda found, of=secret: words[of + found[0]], value)
    for secret, data in values.items():
        made = cluster.make_secret(secret, data)
        say(f"{secret}: {'made' if made else 'is there, left alone'}")


@kube.command()
@click.argument("deployment")
@click.argument("replicas", type=click.IntRange(min=0))
@click.pass_obj
def scale(cluster: Cluster, deployment: str, replicas: int) -> None:
    """Set the number of pods of DEPLOYMENT."""
    cluster.scale(deployment, replicas)
    say(f"{deployment}: {replicas} replicas")
