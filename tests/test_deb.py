"""The Debian packages (packaging/deb.sh) in a clean system of the machine's own release: installed, used beside Debian's MPICH
and Open MPI, removed. A program that Debian built for libmpich.so.12 runs on it."""

import re
import shutil
import subprocess

import pytest
from clean_system import System
from harness import ROOT, SOURCES

CLEAN = ROOT / "build/clean-root"
TRIPLET = "x86_64-linux-gnu"
HOME = f"/usr/lib/{TRIPLET}/hawser"


def ours(system):
    """What of the package there is."""
    places = ["usr/bin", f"usr/lib/{TRIPLET}", "usr/include", "usr/share/man", "usr/share/doc", "usr/lib/debug", "etc/alternatives"]
    return [path for place in places for path in (system.root / place).rglob("*hawser*")]


@pytest.fixture(scope="module")
def packages(session, tmp_path_factory):
    if not (CLEAN / "ready").exists():
        reason = (CLEAN / "failed").read_text().strip() if (CLEAN / "failed").exists() else "scripts/clean-root.sh was not run"
        pytest.skip(f"THE DEBIAN PACKAGE IS NOT TESTED, there is no clean system: {reason}")
    done = subprocess.run([ROOT / "packaging/deb.sh", session.prefix, tmp_path_factory.mktemp("deb")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def system(session, tmp_path):
    one = System(session, CLEAN / "system", tmp_path / "system")
    yield one
    shutil.rmtree(one.root)


def linked(session, folder, *libraries):
    """tests/c/hello.c linked as users do without a wrapper: the program names a library, and no folder where it lies."""
    words = [session.prefix / "bin/mpicc", "-c", SOURCES / "hello.c", "-o", folder / "hello.o"]
    assert session.call(words).code == 0
    done = session.call(["cc", folder / "hello.o", "-o", folder / "hello", *libraries, "-lm", "-Wl,--allow-shlib-undefined"])
    assert done.code == 0, done
    return folder / "hello"


def ranks(text):
    return sorted(line for line in text.splitlines() if re.fullmatch(r"\d+ of \d+", line))


def test_in_a_clean_system(session, system, packages, tmp_path):
    before = ours(system)
    system.take(*packages, linked(session, tmp_path, "-L", session.prefix / "lib", "-lmpi"))
    names = [path.rpartition("/")[2] for path in packages]
    installed = system.call("dpkg", "-i", *[f"/srv/{name}" for name in names])
    assert installed.code == 0 and "warning" not in installed.out + installed.err, installed
    # Nothing else offers these names: they are Hawser's.
    assert ranks(system.say("mpirun", "-np", "3", "/srv/hello", "say")) == ["0 of 3", "1 of 3", "2 of 3"]
    assert ranks(system.say("mpiexec.hawser", "-n", "2", "/srv/hello", "say")) == ["0 of 2", "1 of 2"]
    assert f"-I{HOME}/include/hawser-mpich" in system.say("mpicc", "-show").replace('"', "")
    assert f"-I{HOME}/include/hawser-std" in system.say("mpicc_abi.hawser", "-show").replace('"', "")
    assert (system.root / f"usr/include/{TRIPLET}/mpi/mpi.h").parent.is_symlink()
    assert "OK" in system.say("sh", "-c", "cd / && md5sum -c --quiet /var/lib/dpkg/info/hawser.md5sums && echo OK")
    debug = subprocess.run(["find", system.root / "usr/lib/debug/.build-id", "-name", "*.debug"], capture_output=True, text=True)
    assert len(debug.stdout.split()) >= 5, debug.stdout
    system.say("dpkg", "--purge", "hawser-dbgsym", "hawser")
    assert ours(system) == before
    for name in ["usr/bin/mpirun", "usr/bin/mpicc", f"usr/include/{TRIPLET}/mpi"]:
        assert not (system.root / name).is_symlink(), name


def test_beside_debians_mpis(session, system, packages, tmp_path):
    """Open MPI has the names mpirun and mpicc by its priority. A program for MPICH's library then is N times rank 0 of 1, which is
    what users of Ubuntu 24.04's MPICH package see; after one call of update-alternatives it is not."""
    done = system.call("apt-get", "-qq", "install", "-y", "--no-install-recommends", "netpipe-mpich2", "openmpi-bin", timeout=240)
    if done.code != 0:
        pytest.skip(f"NOT TESTED beside Debian's MPIs: {done.err.splitlines()[-1:]}")
    program = linked(session, tmp_path, system.root / f"usr/lib/{TRIPLET}/libmpich.so.12")
    system.take(packages[0], program)
    system.say("dpkg", "-i", "/srv/" + packages[0].rpartition("/")[2])

    for group, file in [("mpirun", "/usr/bin/mpirun.openmpi"), ("mpi", "/usr/bin/mpicc.openmpi")]:
        assert f"Value: {file}" in system.say("update-alternatives", "--query", group)
    as_root = ["--allow-run-as-root", "--oversubscribe"]
    assert ranks(system.say("mpirun", *as_root, "-np", "2", "/srv/hello", "say")) == ["0 of 1", "0 of 1"]

    system.say("update-alternatives", "--set", "mpirun", "/usr/bin/mpirun.hawser")
    assert ranks(system.say("mpirun", "-np", "3", "/srv/hello", "say")) == ["0 of 3", "1 of 3", "2 of 3"]
    netpipe = system.call("mpiexec", "-n", "2", "NPmpich2", "-l", "1", "-u", "64", "-o", "/srv/np.out")
    assert netpipe.code == 0 and "Mbps" in netpipe.out + netpipe.err, netpipe
    # Debian's own still runs as before.
    assert ranks(system.say("mpiexec.mpich", "-n", "2", "/srv/hello", "say")) == ["0 of 2", "1 of 2"]

    system.say("dpkg", "--purge", "hawser")
    assert "Value: /usr/bin/mpirun.openmpi" in system.say("update-alternatives", "--query", "mpirun")
    assert ours(system) == []
