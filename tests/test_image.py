"""The image for Kubernetes (packaging/kubernetes/Containerfile): built by buildah on Debian's own system, and run as the pods of
an MPIJob, with its own sshd, by every convention of the MPI Operator: make check-long."""

import os
import shutil
import subprocess

import pytest
from harness import ROOT

CLEAN = ROOT / "build/clean-root"
PORTABLE = os.environ.get("HAWSER_PORTABLE")
BASE = "docker.io/library/debian:12-slim"

if not PORTABLE or not (CLEAN / "ready").exists() or not shutil.which("buildah"):
    pytest.skip("THE IMAGE IS NOT BUILT (make check-long, with buildah)", allow_module_level=True)

HOME = "/home/mpiuser"
EXTRA = "-o ConnectionAttempts=10"
# The variables that the operator sets for each mpiImplementation, with its files in another folder.
OPERATOR = {
    "MPICH": {"HYDRA_HOST_FILE": f"{HOME}/.ssh/hostfile", "HYDRA_LAUNCH_EXTRA_ARGS": EXTRA},
    "Intel": {"I_MPI_HYDRA_HOST_FILE": f"{HOME}/.ssh/hostfile", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": EXTRA},
    "OpenMPI": {"OMPI_MCA_orte_default_hostfile": f"{HOME}/.ssh/hostfile.slots", "OMPI_MCA_plm_rsh_args": EXTRA,
                "OMPI_MCA_orte_keep_fqdn_hostnames": "true"},
    "elastic": {},
}
# A pod's mounts, gone with its last process: the image, and the keys that the operator makes.
POD = f"""mount --make-rprivate / && mount --bind $0 $0 && mount -t proc proc $0/proc && mount --rbind /dev $0/dev &&
mkdir -p $0{HOME}/.ssh && mount --bind "$1" $0{HOME}/.ssh && mount --bind /etc/hosts $0/etc/hosts && shift &&
exec /usr/sbin/chroot --userspec 1000:1000 $0 "$@" """


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """The folder with the image's files."""
    folder = tmp_path_factory.mktemp("image")

    def buildah(*words):
        line = ["buildah", "--root", folder / "root", "--runroot", folder / "run", "--storage-driver", "vfs", *words]
        done = subprocess.run(line, capture_output=True, text=True, env=os.environ | {"BUILDAH_ISOLATION": "chroot"})
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout.strip()

    subprocess.run([ROOT / "packaging/wheel.sh", PORTABLE, folder / "context"], check=True, capture_output=True)
    base = buildah("from", "scratch")
    buildah("add", "-q", base, CLEAN / "system", "/")
    buildah("commit", "-q", base, BASE)
    words = ["-t", "hawser", "-f", ROOT / "packaging/kubernetes/Containerfile", folder / "context"]
    buildah("bud", "--pull-never", "--network", "host", *words)
    container = buildah("from", "--pull-never", "hawser")
    yield buildah("mount", container)
    buildah("umount", "-a")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", folder / "id_rsa"], check=True)
    shutil.copy(folder / "id_rsa.pub", folder / "authorized_keys")
    (folder / "hostfile").write_text("node1:2\nnode2:2\n")
    (folder / "hostfile.slots").write_text("node1 slots=2\nnode2 slots=2\n")
    (folder / "discover_hosts.sh").write_text("#!/bin/sh\necho node1:2\necho node2:2\n")
    (folder / "discover_hosts.sh").chmod(0o755)
    for path in [folder, *folder.iterdir()]:
        os.chown(path, 1000, 1000)
    return folder


@pytest.mark.timeout(900)
@pytest.mark.parametrize("implementation", OPERATOR)
def test_an_mpijob(make, image, keys, implementation):
    def pod(*words):
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", POD, image, keys, *words]

    env = {"PATH": "/opt/hawser/bin:/usr/bin:/bin", "HOME": HOME}
    launcher, *workers = make(hosts=3).hosts
    servers = [host.start(pod("/usr/sbin/sshd", "-De", "-f", f"{HOME}/.sshd_config"), env=env, stderr=subprocess.PIPE, text=True)
               for host in workers]
    try:
        for server in servers:
            while "Server listening" not in (line := server.stderr.readline()):
                assert line, "sshd has ended"
        hosts = ["-f", f"{HOME}/.ssh/discover_hosts.sh"] if implementation == "elastic" else []
        done = launcher.run(pod("mpiexec", *hosts, "-n", "4", "hostname"), env=env | OPERATOR[implementation])
    finally:
        for server in servers:
            server.kill()
            server.wait()
            server.stderr.close()
    assert done.returncode == 0 and done.stderr == "", done
    assert sorted(done.stdout.split()) == ["node1", "node1", "node2", "node2"], done
