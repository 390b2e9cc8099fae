"""The files for Kubernetes: they are objects of its published schemas, and say what test_sandboxes.py runs."""

import importlib.util
import re

import pytest
from harness import ROOT

FOLDER = ROOT / "packaging/kubernetes"
VERSIONS = ["1.27", "1.31", "1.36"]

if importlib.util.find_spec("kubernetes_validate") is None:
    pytest.skip("NO FILE FOR KUBERNETES IS CHECKED, kubernetes-validate is not here (scripts/e2e-tools.sh)", allow_module_level=True)

import kubernetes_validate  # noqa: E402
import yaml  # noqa: E402


def objects(name):
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_job_is_what_kubernetes_takes(version):
    service, job = objects("job.yaml")
    for one in (service, job):
        kubernetes_validate.validate(one, version, strict=True)
    job["spec"]["completionMod"] = "Indexed"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_pods_of_the_mpijob_are_what_kubernetes_takes(version):
    """The operator's own schema is not on PyPI; docs/kubernetes.md says against which one the rest was checked."""
    [job] = objects("mpijob.yaml")
    for role in ("Launcher", "Worker"):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": role.lower()},
               "spec": job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]}
        kubernetes_validate.validate(pod, version, strict=True)


def test_the_job_needs_no_privilege_and_its_parts_fit():
    service, job = objects("job.yaml")
    spec = job["spec"]["template"]["spec"]
    [container] = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] and container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert spec["subdomain"] == service["metadata"]["name"]
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]} and service["spec"]["publishNotReadyAddresses"]
    [script] = container["args"]
    assert f"-worker {job['metadata']['name']}-0.{service['metadata']['name']}" in script
    variables = {variable["name"]: variable["value"] for variable in container["env"]}
    assert int(variables["PODS"]) == job["spec"]["completions"] == job["spec"]["parallelism"]
    [mount], [volume] = container["volumeMounts"], spec["volumes"]
    assert variables["HAWSER_TOKEN_FILE"] == f"{mount['mountPath']}/token" and mount["name"] == volume["name"]


def test_the_image_has_what_the_files_ask_for():
    text = (FOLDER / "Containerfile").read_text()
    [job] = objects("mpijob.yaml")
    worker = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    port = worker["readinessProbe"]["tcpSocket"]["port"]
    assert f"Port {port}" in text and worker["args"][0] == "/usr/sbin/sshd" and "openssh-server" in text
    assert worker["args"][-1] == re.search(r"> (/home/mpiuser/.sshd_config)", text)[1]
    assert job["spec"]["sshAuthMountPath"] == "/home/mpiuser/.ssh" and "--uid 1000" in text
