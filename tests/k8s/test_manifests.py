"""What every object in k8s/ must be: valid, tight, and with all that it refers to."""

import inspect
import itertools
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from gcs.app.crawl_input import read_lines
from gcs.app.terminal import EXIT_CODES
from gcs.core.report.report import Report
from gcs.errors import UsageError
from gcs.roles.station.http import prometheus

from .manifests import (
    CHART,
    FULL_CHART,
    K8S,
    TARGETS,
    Manifest,
    build,
    containers_of,
    named,
    pod_of,
    secrets_of,
    workloads,
)

#: the oldest Kubernetes that we promise, and a new one
VERSIONS = ("1.27", "1.33")
#: kinds of operators, whose schemas are not Kubernetes' own
CUSTOM = {"ScaledObject", "TriggerAuthentication", "ServiceMonitor", "PrometheusRule"}

every_target = pytest.mark.parametrize("target", TARGETS)


@every_target
@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_passes_strict_schema_validation(target: str, version: str) -> None:
    items = [item for item in build(target) if item["kind"] not in CUSTOM]
    assert len(items) > 20
    for item in items:
        kubernetes_validate.validate(item, version, strict=True)


@every_target
def test_pods_are_tight(target: str) -> None:
    """Non-root, no way to more rights, nothing writable but volumes, no API token unless an account is named."""
    for name, pod in workloads(target):
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] > 0, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert "serviceAccountName" in spec or spec["automountServiceAccountToken"] is False, name
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            assert not spec.get(key), name
        assert not [volume for volume in spec.get("volumes", []) if "hostPath" in volume], name
        for container in containers_of(pod):
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False, name
            assert context["readOnlyRootFilesystem"] is True, name
            assert context["capabilities"] == {"drop": ["ALL"]}, name
            fixed = re.fullmatch(r"[a-z./-]+:(RELEASE\.)?\d[\w.-]*", container["image"])
            assert fixed, f"{name}: no fixed version of its image"


@every_target
def test_containers_say_what_they_need(target: str) -> None:
    for name, pod in workloads(target):
        for container in pod["spec"]["containers"]:
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys(), name
            assert "memory" in container["resources"]["limits"], name
            if name.startswith(("StatefulSet", "Deployment")):
                assert {"livenessProbe", "readinessProbe"} <= container.keys(), name
                assert "startupProbe" in container or name.endswith("/helper"), name
            for kind in {"startupProbe", "livenessProbe", "readinessProbe"} & container.keys():
                assert container[kind].get("timeoutSeconds", 1) >= 5, f"{name}: a busy node needs longer to answer"
            if "startupProbe" in container:
                probe = container["startupProbe"]
                assert probe["periodSeconds"] * probe["failureThreshold"] >= 300, f"{name}: a large disk takes minutes"


def test_base_fits_a_node_of_two_cores() -> None:
    """Beside what Kubernetes itself runs there."""
    cpu = memory = 0.0
    for item in build("."):
        if item["kind"] in ("StatefulSet", "Deployment"):
            for container in pod_of(item)["spec"]["containers"]:  # type: ignore[index]
                wanted = container["resources"]["requests"]
                cpu += _amount(wanted["cpu"]) * item["spec"].get("replicas", 1)
                memory += _amount(wanted["memory"]) * item["spec"].get("replicas", 1)
    assert cpu <= 1.2 and memory <= 3 * 2**30


@every_target
def test_nothing_here_refuses_a_change_or_takes_data_away(target: str) -> None:
    """A Job's template cannot be changed; with its namespace or its claim, `kubectl delete -k` takes data away."""
    assert not {"Job", "Namespace", "PersistentVolumeClaim"} & {item["kind"] for item in build(target)}


@every_target
def test_crawl_is_a_template_of_runs_with_names_of_their_own(target: str) -> None:
    item = named(target, "CronJob", "crawl")
    assert item["spec"]["suspend"] is (target != FULL_CHART), "nothing is crawled until somebody makes a job of it"
    [container] = item["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    [run] = [each for each in container["env"] if each["name"] == "RUN"]
    assert run["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['job-name']"
    assert "$(RUN)" in container["args"][container["args"].index("--run") + 1]
    assert not read_lines(str(K8S.parent / "configs" / "seeds.txt")), "a placeholder would be crawled"


@every_target
def test_helpers_and_gatherers_outlive_a_crawl(target: str) -> None:
    """Kubernetes would start what has ended again and again."""
    for kind, name in (("Deployment", "helper"), ("StatefulSet", "gatherer")):
        [container] = named(target, kind, name)["spec"]["template"]["spec"]["containers"]
        assert "--stay" in container["args"]


def test_redis_keeps_its_name_while_it_is_busy() -> None:
    assert named(".", "Service", "redis")["spec"]["publishNotReadyAddresses"] is True


@every_target
def test_names_are_found_on_every_usual_cluster(target: str) -> None:
    """kube-system, the cache on the node, OpenShift."""
    egress = named(target, "NetworkPolicy", "names")["spec"]["egress"]
    ways = {(str(peer), port["port"]) for rule in egress for peer in rule["to"] for port in rule["ports"]}
    for where, port in (("kube-system", 53), ("169.254.20.10/32", 53), ("openshift-dns", 5353)):
        assert any(where in peer and port == number for peer, number in ways), where


def test_chart_renders_what_the_base_holds() -> None:
    """The chart reads the files of the base: without values there is no difference but the hash in a name."""

    def objects(target: str) -> dict[str, str]:
        found = {}
        for item in build(target):
            text = re.sub(r"\bgcs-configs-\w{10}\b", "gcs-configs", json.dumps(item, sort_keys=True))
            found[f"{item['kind']}/{json.loads(text)['metadata']['name']}"] = text
        return found

    assert objects(CHART) == objects(".")


def test_values_reach_the_objects() -> None:
    news = named(FULL_CHART, "StatefulSet", "gatherer-news-far")
    [container] = news["spec"]["template"]["spec"]["containers"]
    assert container["args"][-2:] == ["--place", "far"] and news["spec"]["replicas"] == 2
    assert container["image"] == "registry.test/gcs-crawler:0.2.0"
    assert {"name": "CRAWL_NAME", "value": "news"} in container["env"]
    assert {"name": "GCS_ALLOW", "value": "store=s3://our-bucket/news"} in container["env"]
    assert news["spec"]["template"]["spec"]["nodeSelector"] == {"topology.kubernetes.io/region": "far"}
    assert news["spec"]["volumeClaimTemplates"][0]["spec"]["storageClassName"] == "fast"
    assert "our-site" in named(FULL_CHART, "ConfigMap", "gcs-configs-news")["data"]["team.toml"]
    assert named(FULL_CHART, "CronJob", "shift-begins")["spec"]["timeZone"] == "Europe/Berlin"
    assert named(FULL_CHART, "Deployment", "helper")["spec"]["template"]["spec"]["priorityClassName"] == "low"
    assert named(FULL_CHART, "Ingress", "station")["spec"]["tls"][0]["secretName"] == "crawler-tls"
    assert not [item for item in build(FULL_CHART) if item["metadata"]["name"] in ("redis", "store")]


def test_components_are_patches_of_an_overlay(tmp_path: Path) -> None:
    """A registry with a password, and a store in a private network."""
    shutil.copytree(K8S, tmp_path / "k8s")
    shutil.copytree(K8S.parent / "configs", tmp_path / "configs")
    (mine := tmp_path / "k8s" / "overlays" / "mine").mkdir()
    components = "[../../components/pull-secret, ../../components/private-store]"
    (mine / "kustomization.yaml").write_text(f"kind: Kustomization\nresources: [../prod]\ncomponents: {components}\n")
    target = str(mine)
    for name, pod in workloads(target):
        assert pod["spec"]["imagePullSecrets"] == [{"name": "pull"}], name
    assert named(target, "NetworkPolicy", "private-store")["spec"]["egress"]


def test_overlay_may_have_a_namespace_of_its_own(tmp_path: Path) -> None:
    """Two deployments on one cluster. Once the accounts stayed behind in gcs, and no secret was ever made."""
    shutil.copytree(K8S, tmp_path / "k8s")
    shutil.copytree(K8S.parent / "configs", tmp_path / "configs")
    (mine := tmp_path / "k8s" / "overlays" / "mine").mkdir()
    (mine / "kustomization.yaml").write_text("kind: Kustomization\nresources: [../../base]\nnamespace: other\n")
    for item in build(str(mine)):
        assert item["metadata"]["namespace"] == "other", item["metadata"]["name"]
        for subject in item.get("subjects", []):
            assert subject["namespace"] == "other", item["metadata"]["name"]


@every_target
def test_selectors_select(target: str) -> None:
    """Each workload selects its own pods; each Service, budget and network policy selects somebody's."""
    pods = [pod["metadata"]["labels"] for _, pod in workloads(target)]
    for item in build(target):
        name, spec = f"{item['kind']}/{item['metadata']['name']}", item.get("spec", {})
        if item["kind"] in ("StatefulSet", "Deployment"):
            labels = pod_of(item)["metadata"]["labels"]  # type: ignore[index]
            assert _selects(spec["selector"], labels), name
            assert sum(_selects(spec["selector"], each) for each in pods) == 1, f"{name} selects the pods of others"
        elif item["kind"] == "Service":
            assert any(_selects({"matchLabels": spec["selector"]}, labels) for labels in pods), name
        elif item["kind"] == "PodDisruptionBudget":
            assert any(_selects(spec["selector"], labels) for labels in pods), name
        elif item["kind"] == "NetworkPolicy":
            assert any(_selects(spec["podSelector"], labels) for labels in pods), name
            for peer in [peer for rule in spec.get("egress", []) for peer in rule.get("to", [])]:
                if "podSelector" in peer:
                    assert any(_selects(peer["podSelector"], labels) for labels in pods), name
            for peer in [peer for rule in spec.get("ingress", []) for peer in rule.get("from", [])]:
                assert any(_selects(peer["podSelector"], labels) for labels in pods), name
        elif item["kind"] == "ServiceMonitor":
            services = [each for each in build(target) if each["kind"] == "Service"]
            stations = [each for each in services if _selects(spec["selector"], each["metadata"]["labels"])]
            assert stations, name
            for service in stations:
                ports = {port["name"] for port in service["spec"]["ports"]}
                assert {endpoint["port"] for endpoint in spec["endpoints"]} <= ports, name


@every_target
def test_references_resolve(target: str) -> None:
    """Secrets, ConfigMaps, volumes, accounts, port names, $(VARIABLES), and the targets of roles and scalers."""
    items = build(target)
    secrets = secrets_of(target)
    maps = {item["metadata"]["name"]: set(item["data"]) for item in items if item["kind"] == "ConfigMap"}
    maps["kube-root-ca.crt"] = {"ca.crt"}  # every namespace has one
    accounts = {item["metadata"]["name"] for item in items if item["kind"] == "ServiceAccount"}
    deployments = {item["metadata"]["name"] for item in items if item["kind"] == "Deployment"}
    scalable = deployments | {item["metadata"]["name"] for item in items if item["kind"] == "StatefulSet"}
    for item in items:
        name = f"{item['kind']}/{item['metadata']['name']}"
        for reference in _find(item, "secretKeyRef"):
            assert reference["key"] in secrets[reference["name"]], f"{name}: {reference}"
        for reference in _find(item, "secretRef"):
            assert reference.get("optional") or reference["name"] in secrets, f"{name}: {reference}"
        for reference in _find(item, "credentials"):
            assert reference["key"] in secrets[reference["name"]], f"{name}: {reference}"
        for reference in _find(item, "configMap"):
            assert reference["name"] in maps, f"{name}: {reference}"
        if item["kind"] == "RoleBinding":
            named(target, "Role", item["roleRef"]["name"])
            assert {subject["name"] for subject in item["subjects"]} <= accounts, name
            assert {subject["namespace"] for subject in item["subjects"]} == {item["metadata"]["namespace"]}, name
        if item["kind"] == "Role":
            assert set(item["rules"][0].get("resourceNames", [])) <= deployments, name
        if item["kind"] == "ScaledObject":
            assert item["spec"]["scaleTargetRef"]["name"] in scalable, name
        if item["kind"] == "TriggerAuthentication":
            for entry in item["spec"]["secretTargetRef"]:
                assert entry["key"] in secrets[entry["name"]], name
    for name, pod in workloads(target):
        spec = pod["spec"]
        assert spec.get("serviceAccountName") is None or spec["serviceAccountName"] in accounts, name
        claims = [
            item["spec"].get("volumeClaimTemplates", [])
            for item in items
            if name.endswith(f"/{item['metadata']['name']}") and item["kind"] == "StatefulSet"
        ]
        volumes = {volume["name"] for volume in spec.get("volumes", [])} | {
            c["metadata"]["name"] for each in claims for c in each
        }
        for container in containers_of(pod):
            mounts = {mount["name"] for mount in container.get("volumeMounts", [])}
            assert mounts <= volumes, name
            ports = {port["name"] for port in container.get("ports", [])}
            for probe in _find(container, "httpGet"):
                assert probe["port"] in ports, name
            known = {variable["name"] for variable in container.get("env", [])}
            for word in [*container.get("command", []), *container.get("args", [])]:
                assert set(re.findall(r"\$\((\w+)\)", word)) <= known, f"{name}: {word}"
                assert set(re.findall(r"\$(\w+)", word)) <= known, f"{name}: {word}"
    for item in items:
        if item["kind"] == "Service":
            _check_ports(item, [pod for _, pod in workloads(target)])
        if item["kind"] == "NetworkPolicy":
            _check_named_ports(item, [pod for _, pod in workloads(target)])


@every_target
def test_addresses_lead_to_services(target: str) -> None:
    """What stands in a URL, of a variable or of a secret that is made here, is a Service and one of its ports."""
    services = {
        (item["metadata"]["name"], str(port["port"]))
        for item in build(target)
        if item["kind"] == "Service"
        for port in item["spec"].get("ports", [])
    }
    texts = [text for _, pod in workloads(target) for text in _texts(pod) if not text.startswith("s3:")]
    found = {match for text in texts for match in re.findall(r"(?:http|redis)://(?::[^@/ ]*@)?([\w-]+):(\d+)", text)}
    assert ("station", "8642") in found and (target in ("overlays/prod", FULL_CHART)) == (
        ("redis", "6379") not in found
    )
    assert found <= services


@every_target
def test_no_secret_stands_in_a_file(target: str) -> None:
    assert not [item for item in build(target) if item["kind"] == "Secret"]
    for name, pod in workloads(target):
        for container in containers_of(pod):
            for variable in container.get("env", []):
                if re.search("PASSWORD|TOKEN|SECRET|GCS_SPACE", variable["name"]):
                    assert "value" not in variable, f"{name}: {variable['name']}"


def test_helpers_reach_only_the_gateway_and_the_web() -> None:
    """Of the policies that let helpers out: names, the station, and public addresses."""
    helper = named(".", "Deployment", "helper")["spec"]["template"]["metadata"]["labels"]
    policies = [item for item in build(".") if item["kind"] == "NetworkPolicy"]
    out = {
        item["metadata"]["name"]: item["spec"].get("egress", [])
        for item in policies
        if _selects(item["spec"]["podSelector"], helper) and "Egress" in item["spec"]["policyTypes"]
    }
    assert out.keys() == {"nothing", "names", "gateway", "web"}
    assert out["nothing"] == []
    assert out["gateway"][0]["to"][0]["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "station"
    assert "10.0.0.0/8" in out["web"][0]["to"][0]["ipBlock"]["except"]
    redis = next(item for item in policies if item["metadata"]["name"] == "redis")
    assert not any(_selects(peer["podSelector"], helper) for peer in redis["spec"]["ingress"][0]["from"])


@every_target
def test_jobs_reach_the_api_server_of_every_usual_cluster(target: str) -> None:
    """A policy sees the port behind the service `kubernetes`: without it no secret is made, and nothing starts."""
    secrets = named(target, "Deployment", "station")["spec"]["template"]["metadata"]["labels"]
    policy = named(target, "NetworkPolicy", "kube-api")["spec"]
    assert _selects(policy["podSelector"], secrets)
    cloud, kubeadm, minikube, microk8s = 443, 6443, 8443, 16443
    assert {port["port"] for port in policy["egress"][0]["ports"]} == {cloud, kubeadm, minikube, microk8s}


@every_target
def test_crawl_that_was_stopped_stays_so(target: str) -> None:
    """By a person or a limit (3), or since its settings are wrong (2): to start the job again would undo that."""
    spec = named(target, "CronJob", "crawl")["spec"]["jobTemplate"]["spec"]
    final = [rule["onExitCodes"] for rule in spec["podFailurePolicy"]["rules"] if rule["action"] == "FailJob"]
    assert final == [
        {"containerName": "crawl", "operator": "In", "values": [UsageError.exit_code, EXIT_CODES["stopped"]]}
    ]
    assert spec["template"]["spec"]["restartPolicy"] == "Never", "the API server takes no policy otherwise"


@every_target
def test_the_team_has_a_key_and_helpers_do_not(target: str) -> None:
    """Who writes to Redis without the key is refused. Helpers come through the station, and hold no secret."""
    assert "key" in secrets_of(target)["gcs-team"]
    holders = {
        pod["metadata"]["labels"]["app.kubernetes.io/component"]
        for _, pod in workloads(target)
        if {"name": "gcs-team", "key": "key"} in list(_find(pod, "secretKeyRef"))
    }
    assert holders == {"gatherer", "station", "crawl"}
    for name, pod in workloads(target):
        texts = set(_texts(pod))
        component = pod["metadata"]["labels"]["app.kubernetes.io/component"]
        assert component in (*holders, "redis") or not {"gcs-space", "gcs-team"} & texts, name
        for container in pod["spec"]["containers"]:
            words = " ".join([*container.get("command", []), *container.get("args", [])])
            assert "GCS_SPACE_KEY" not in words, f"{name}: a process list would show the key"
            for variable in container.get("env", []):
                assert variable["name"] != "GCS_SPACE_KEY" or "valueFrom" in variable, f"{name}: the key is in a file"


@every_target
def test_gatherers_allow_exactly_the_store_that_the_crawl_asks_for(target: str) -> None:
    def value(kind: str, name: str, variable: str) -> str:
        pod = pod_of(named(target, kind, name))
        assert pod is not None
        [container] = pod["spec"]["containers"]
        [found] = [each["value"] for each in container["env"] if each["name"] == variable]
        return str(found)

    assert value("StatefulSet", "gatherer", "GCS_ALLOW") == f"store={value('CronJob', 'crawl', 'GCS_STORE_URL')}"


@every_target
def test_only_who_makes_the_secrets_gets_the_account_that_may(target: str) -> None:
    spec = named(target, "Deployment", "station")["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is False
    [maker], [station] = spec["initContainers"], spec["containers"]
    assert [mount["name"] for mount in maker["volumeMounts"]] == ["account"]
    assert "account" not in {mount["name"] for mount in station["volumeMounts"]}


@every_target
def test_there_is_one_gateway(target: str) -> None:
    """A station knows only the leases that it gave: a second one would refuse what helpers took from the first."""
    spec = named(target, "Deployment", "station")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_overlays_differ_as_they_say() -> None:
    for kind, name in (("StatefulSet", "gatherer"), ("StatefulSet", "redis"), ("Deployment", "station")):
        assert named("overlays/dev", kind, name)["spec"]["replicas"] == 1
    assert named("overlays/dev", "Deployment", "helper")["spec"]["replicas"] == 1
    assert all(item["spec"]["suspend"] for item in build("overlays/dev") if item["kind"] == "CronJob")
    assert named("overlays/prod", "StatefulSet", "gatherer")["spec"]["replicas"] == 8
    assert not [item for item in build("overlays/prod") if item["metadata"]["name"] in ("redis", "store", "files")]
    assert [item["metadata"]["name"] for item in build("overlays/keda") if item["kind"] == "CronJob"] == ["crawl"]


def test_alerts_are_about_metrics_that_the_station_has() -> None:
    rules = named("overlays/prod", "PrometheusRule", "gcs")["spec"]["groups"][0]["rules"]
    assert len(rules) >= 4
    source = inspect.getsource(prometheus)
    for rule in rules:
        names = set(re.findall(r"gcs_\w+", rule["expr"]))
        assert names, rule["alert"]
        assert not {name for name in names if f'"{name}"' not in source}, rule["alert"]
        assert rule["annotations"]["summary"]


def test_scalers_read_a_figure_that_the_station_has() -> None:
    """KEDA reads /api/status: by the names of its schema."""
    names = {"report": Report.__struct_fields__}
    scalers = [item for item in build("overlays/keda") if item["kind"] == "ScaledObject"]
    assert {item["spec"]["scaleTargetRef"]["name"] for item in scalers} == {"helper", "gatherer"}
    for trigger in [each for item in scalers for each in item["spec"]["triggers"] if each["type"] == "metrics-api"]:
        part, _, figure = trigger["metadata"]["valueLocation"].partition(".")
        assert figure in names[part] and trigger["metadata"]["url"].endswith(":8642/api/status")


def test_budget_lets_one_gatherer_go_at_a_time() -> None:
    """A drained node takes one; the next waits until the first is back."""
    budget = named(".", "PodDisruptionBudget", "gatherer")["spec"]
    assert budget["maxUnavailable"] == 1
    pods = pod_of(named(".", "StatefulSet", "gatherer"))
    assert pods is not None and _selects(budget["selector"], pods["metadata"]["labels"])


def test_panels_are_about_metrics_that_the_station_has() -> None:
    dashboard = json.loads(named("overlays/prod", "ConfigMap", "gcs-dashboard")["data"]["dashboard.json"])
    source, taken = inspect.getsource(prometheus), set()
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            names = set(re.findall(r"gcs_\w+", target["expr"]))
            assert names and not {name for name in names if f'"{name}"' not in source}, panel["title"]
        place = panel["gridPos"]
        columns, rows = range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
        cells = set(itertools.product(columns, rows))
        assert not cells & taken and place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"]) >= 12


def test_handover_has_time(target: str = ".") -> None:
    """A gatherer is given longer to hand over than its lease, and a helper longer than it needs to return its URLs."""
    assert named(target, "StatefulSet", "gatherer")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= 60
    assert named(target, "Deployment", "helper")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= 10


def _amount(quantity: str) -> float:
    """A quantity of Kubernetes: 250m, 512Mi, 1."""
    units = {"m": 1e-3, "Mi": 2.0**20, "Gi": 2.0**30}
    unit = quantity.lstrip("0123456789.")
    return float(quantity.removesuffix(unit)) * units.get(unit, 1.0)


def _selects(selector: Manifest, labels: dict[str, str]) -> bool:
    """A label selector, as the API server reads it."""
    for key, value in selector.get("matchLabels", {}).items():
        if labels.get(key) != value:
            return False
    for rule in selector.get("matchExpressions", []):
        assert rule["operator"] == "In"
        if labels.get(rule["key"]) not in rule["values"]:
            return False
    return True


def _find(value: Any, key: str) -> Iterator[Manifest]:
    """Every mapping under `key`, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == key and isinstance(inner, dict):
                yield inner
            yield from _find(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _find(inner, key)


def _texts(value: Any) -> Iterator[str]:
    """Every text, at any depth."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


def _check_named_ports(policy: Manifest, pods: list[Manifest]) -> None:
    """Ports that a policy names are ports of the pods that it lets others in to."""
    meant = [pod for pod in pods if _selects(policy["spec"]["podSelector"], pod["metadata"]["labels"])]
    names = {port["name"] for pod in meant for each in pod["spec"]["containers"] for port in each.get("ports", [])}
    for rule in policy["spec"].get("ingress", []):
        for port in rule.get("ports", []):
            assert isinstance(port["port"], int) or port["port"] in names, policy["metadata"]["name"]
    for rule in policy["spec"].get("egress", []):
        assert all(isinstance(port["port"], int) for port in rule.get("ports", [])), "a name means another pod's port"


def _check_ports(service: Manifest, pods: list[Manifest]) -> None:
    """A Service's target ports are ports of the pods that it selects."""
    for pod in pods:
        if _selects({"matchLabels": service["spec"]["selector"]}, pod["metadata"]["labels"]):
            names = {port["name"] for container in pod["spec"]["containers"] for port in container.get("ports", [])}
            wanted = {port["targetPort"] for port in service["spec"].get("ports", [])}
            assert wanted <= names, service["metadata"]["name"]
