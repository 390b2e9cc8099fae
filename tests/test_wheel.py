"""The Python wheel (packaging/wheel.sh): in environments of several kinds mpi4py finds Hawser with no variable set."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from harness import ROOT, SOURCES, WHOLE

# Users on a slow line wait for it, and PyPI has a limit for a project; `mpich`'s wheel has 12 MB.
MOST_BYTES = 15_000_000
HELLO = ["-m", "mpi4py.bench", "helloworld"]


@pytest.fixture(scope="module")
def wheel(session, tmp_path_factory):
    done = subprocess.run([ROOT / "packaging/wheel.sh", session.prefix, tmp_path_factory.mktemp("wheel")], capture_output=True,
                          text=True, env=session.environment())
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def ours(session, folder, *first):
    """The environment of a user who has set nothing: the installation under test is not in the PATH."""
    path = [word for word in session.environment()["PATH"].split(":") if not word.startswith(str(session.prefix))]
    return {"PATH": ":".join([*map(str, first), *path]), "HOME": str(folder)}


def pip(python, *words):
    done = subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "-q", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """An empty virtual environment with the wheel and mpi4py's."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip(folder / "bin/python", "install", wheel, "mpi4py")
    return folder


def said_hello(result, n):
    assert result.code == 0 and result.err == "", result
    assert sorted(re.findall(r"process (\d+) of (\d+) on", result.out)) == [(str(rank), str(n)) for rank in range(n)], result


def test_its_size_and_names(wheel):
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as files:
        data = {name.split(".data/data/")[1]: info for name, info in zip(files.namelist(), files.infolist()) if ".data/" in name}
    for name in ["bin/mpiexec", "bin/mpirun", "bin/mpicc", "bin/mpicxx", "bin/mpicc_abi", "bin/hawser-bench", "bin/hawser-info",
                 "lib/libmpi.so.12", "lib/libmpi_abi.so.1", "lib/libmpich.so.12"]:
        assert data[name].external_attr >> 16 & 0o111, name
    assert {"include/mpi.h", "share/man/man1/mpiexec.1", "share/man/man1/hawser-bench-run.1"} <= set(data)
    debug = list(wheel.parent.glob("*-debug.tar.xz"))
    assert len(debug) == 1


def test_its_platform(wheel):
    """auditwheel has the list of what may be expected of a system of each platform tag."""
    done = subprocess.run([ROOT / "build/wheel-tools/bin/auditwheel", "show", wheel], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tag = wheel.stem.rpartition("-")[2]
    assert f'constrains the platform tag to "{tag}"' in " ".join(done.stdout.split()), done.stdout


def test_in_an_activated_environment(session, environment, tmp_path):
    env = ours(session, tmp_path, environment / "bin")
    said_hello(session.call(["mpiexec", "-n", "4", "python", *HELLO], env), 4)
    said_hello(session.call(["mpirun", "-np", "3", "python", *HELLO], env), 3)


def test_in_one_that_is_not_activated(session, environment, tmp_path):
    words = [environment / "bin/mpiexec", "-n", "4", environment / "bin/python", *HELLO]
    said_hello(session.call(words, ours(session, tmp_path)), 4)


def test_a_program_that_was_not_started_by_mpiexec(session, environment, tmp_path):
    said_hello(session.call([environment / "bin/python", *HELLO], ours(session, tmp_path)), 1)


def copy_of_python(folder):
    """A Python that is no virtual environment, in a folder of its own, as conda has it; None where this one cannot be copied."""
    base = Path(sys.base_prefix)
    if base in (Path("/usr"), Path("/usr/local")):
        return None
    ignored = shutil.ignore_patterns("test", "__pycache__", "*.a", "site-packages", "idlelib", "tkinter", "share")
    shutil.copytree(base, folder, symlinks=True, ignore=ignored)
    python = folder / "bin" / Path(sys.executable).resolve().name
    done = subprocess.run([python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True)
    if done.stdout.strip() != str(folder):
        return None
    subprocess.run([python, "-m", "ensurepip"], check=True, capture_output=True)
    return python


def test_in_a_prefix_like_condas(session, wheel, tmp_path):
    python = copy_of_python(tmp_path / "conda")
    if python is None:
        pytest.skip(f"NOT TESTED in a prefix like conda's: the Python in {sys.base_prefix} cannot be copied")
    pip(python, "install", wheel, "mpi4py")
    said_hello(session.call([python.parent / "mpiexec", "-n", "4", python, *HELLO], ours(session, tmp_path)), 4)


def test_the_environment_may_be_moved(session, environment, tmp_path):
    moved = shutil.copytree(environment, tmp_path / "moved", symlinks=True)
    env = ours(session, tmp_path, moved / "bin")
    for compiler, library in [("mpicc", "libmpi.so.12"), ("mpicc_abi", "libmpi_abi.so.1")]:
        done = session.call([compiler, SOURCES / "hello.c", "-o", tmp_path / compiler], env)
        assert done.code == 0, done
        loaded = session.call(["ldd", tmp_path / compiler], env).out
        assert f"{library} => {moved}/lib/{library}" in loaded, loaded
        result = session.call(["mpiexec", "-n", "2", tmp_path / compiler, "say"], env)
        assert sorted(result.out.split("\n"))[1:] == ["0 of 2", "1 of 2"], result
    bench = session.call(["hawser-bench", "run", "--layers", "none", "--rounds", "1", "--ms", "1", "--max", "8", "--out",
                          tmp_path / "report"], env)
    assert bench.code == 0 and (tmp_path / "report/report.html").exists(), bench


@pytest.mark.parametrize("name", ["libmpich.so.12", "libmpi_abi.so.0"])
def test_second_names_load_the_same_library(session, environment, tmp_path, name):
    """A program that was linked with the second name, and that loads the library by its first name too, has one library."""
    abi = "mpicc" if name == "libmpich.so.12" else "mpicc_abi"
    env = ours(session, tmp_path, environment / "bin")
    program = tmp_path / "program"
    done = session.call([abi, "-c", SOURCES / "hello.c", "-o", tmp_path / "hello.o"], env)
    assert done.code == 0, done
    lib = environment / "lib"
    first = {"libmpich.so.12": "libmpi.so.12", "libmpi_abi.so.0": "libmpi_abi.so.1"}[name]
    link = ["-L", lib, "-Wl,--no-as-needed", f"-l:{name}", f"-l:{first}", "-lm"]
    done = session.call(["cc", tmp_path / "hello.o", "-o", program, *link], env)
    assert done.code == 0, done
    needed = session.call(["readelf", "-d", program], env).out
    assert f"[{name}]" in needed, needed
    result = session.call([environment / "bin/mpiexec", "-n", "2", program, "say"], env)
    assert sorted(result.out.split("\n"))[1:] == ["0 of 2", "1 of 2"] and result.err == "", result


def test_nothing_is_left_when_it_is_uninstalled(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"

    def files():
        return {path for path in (tmp_path / "venv").rglob("*") if "__pycache__" not in path.parts and not path.is_dir()}

    before = files()
    pip(python, "install", wheel)
    assert tmp_path / "venv/bin/mpiexec" in files()
    pip(python, "uninstall", "-y", "hawser")
    assert files() == before


# The commands of mpi4py's own workflow of the ABI (.github/workflows/ci-abi.yml), which installs by --target; without
# the options that its release does not have yet.
COMMANDS = [["-m", "mpi4py", option] for option in ["--prefix", "--mpi-library", "--mpi-std-version", "--mpi-lib-version"]]
ABIS = {"mpich": "MPICH ABI", "mpiabi": "standard ABI"}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ABIS if WHOLE else ["mpich"])
def test_mpi4pys_workflow_of_the_abi(session, wheel, tmp_path, name):
    # pip leaves out the folder lib with --target; the workflow uses uv.
    uv = [ROOT / "build/wheel-tools/bin/uv", "pip", "install", "-q", "--target", tmp_path / "first", wheel]
    subprocess.run(uv, check=True)
    target = (tmp_path / "first").rename(tmp_path / "hawser")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    if name == "mpich":
        pip(python, "install", "mpi4py")
    else:
        with_ours = os.environ | {"MPICC": str(target / "bin/mpicc_abi"), "MPI4PY_BUILD_MPIABI": "1", "CFLAGS": "-O0"}
        done = subprocess.run([python, "-m", "pip", "install", "-q", "--no-cache-dir", "--no-binary", "mpi4py", "mpi4py"],
                              env=with_ours, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    libraries = {"LD_LIBRARY_PATH": str(target / "lib")}
    if name == "mpiabi":
        libraries |= {"MPI4PY_LIBMPI": str(target / "lib/libmpi_abi.so.1")}
    env = ours(session, tmp_path, target / "bin") | libraries
    said = [session.call(["mpiexec", "-n", "1", python, *words], env) for words in COMMANDS]
    assert all(one.code == 0 and one.err == "" for one in said), said
    assert f"{target}/lib" in said[1].out, said[1]
    assert ABIS[name] in said[3].out, said[3]
    for n in (1, 2, 3, 4):
        said_hello(session.call(["mpiexec", "-n", n, python, *HELLO], env), n)
        ring = session.call(["mpiexec", "-n", n, python, "-m", "mpi4py.bench", "ringtest"], env)
        assert ring.code == 0 and f"({n} processes, " in ring.out, ring
