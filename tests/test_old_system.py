"""The wheel for old systems (`make wheel`) in Debian 11, whose glibc is five years older than Debian 12's: make check-long."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from clean_system import System
from harness import ROOT, SOURCES

OLD = ROOT / "build/old-root"
# An installation that packaging/portable.sh has made.
PORTABLE = os.environ.get("HAWSER_PORTABLE")

if not PORTABLE or not (OLD / "ready").exists():
    pytest.skip("THE WHEEL IS NOT TESTED ON AN OLD SYSTEM (make check-long)", allow_module_level=True)


@pytest.fixture(scope="module")
def wheel(session, tmp_path_factory):
    line = [ROOT / "packaging/wheel.sh", PORTABLE, tmp_path_factory.mktemp("wheel")]
    done = subprocess.run(line, capture_output=True, text=True, env=session.environment())
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def system(session, wheel, tmp_path_factory):
    """Debian 11 with its own Python, and the wheels of Hawser and mpi4py in an environment."""
    folder = tmp_path_factory.mktemp("old")
    system = System(session, OLD / "system", folder / "system")
    system.say("apt-get", "-qq", "install", "-y", "--no-install-recommends", "python3-venv", "gcc", "libc6-dev", timeout=300)
    version = system.say("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    line = [sys.executable, "-m", "pip", "download", "-q", "--only-binary", ":all:", "--python-version", version, "-d", folder, "mpi4py"]
    subprocess.run(line, check=True)
    system.take(wheel, *folder.glob("mpi4py*.whl"), SOURCES / "hello.c", SOURCES / "test.h")
    system.say("python3", "-m", "venv", "/srv/venv", timeout=120)
    system.say("/srv/venv/bin/pip", "install", "-q", "--no-index", "--find-links", "/srv", "hawser", "mpi4py", timeout=120)
    yield system
    shutil.rmtree(system.root)


def test_its_name_is_of_a_glibc_from_2012(wheel):
    assert re.search(r"-manylinux_2_17_\w+\.whl$", wheel.name), wheel


@pytest.mark.timeout(900)
def test_programs_of_python(system):
    said = system.say("/srv/venv/bin/mpiexec", "-n", "4", "/srv/venv/bin/python", "-m", "mpi4py.bench", "helloworld")
    assert sorted(re.findall(r"process (\d+) of (\d+) on", said)) == [(str(rank), "4") for rank in range(4)], said


def test_programs_in_c_by_both_abis(system):
    for compiler in ("mpicc", "mpicc_abi"):
        system.say(f"/srv/venv/bin/{compiler}", "/srv/hello.c", "-o", "/srv/hello")
        said = system.say("/srv/venv/bin/mpiexec", "-n", "3", "/srv/hello", "say")
        assert sorted(re.findall(r"^\d of 3$", said, re.MULTILINE)) == ["0 of 3", "1 of 3", "2 of 3"], said


def test_the_tools(system):
    assert "HAWSER_" in system.say("/srv/venv/bin/hawser-info")
    words = ["--layers", "none", "--rounds", "1", "--ms", "1", "--max", "8", "--out", "/srv/report"]
    system.say("/srv/venv/bin/hawser-bench", "run", *words)
    assert (system.root / "srv/report/report.html").exists()
