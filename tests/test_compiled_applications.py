"""Programs of others as their users have them: Debian's parallel Yorick, which was built for MPICH, and in the long
form of the tests HPCC (with HPL) and the examples of rsmpi, which Hawser's compilers build.

The programs check their own answers.
"""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
from harness import LONG, ROOT

YORICK = ROOT / "build/yorick"
MPY = YORICK / "usr/lib/yorick/bin/mpy.mpich2"
HPCC = ROOT / "build/hpcc"
# The reference BLAS, and the Fortran library that it needs.
BLAS = next((ROOT / "build/scalapack").glob("usr/lib/*/blas/libblas.so.3"), None)
COMPILERS = {"mpich": "mpicc", "std": "mpicc_abi"}
# rsmpi takes a minute to build on two cores.
LENGTHY = "takes a minute: make check-long"
pytestmark = pytest.mark.timeout(320)

# Yorick's own tests. testmp1 sends messages of all its types between ranks 0 and n, testmp2 from each rank to the n-th
# behind it, and testmp3 from rank 0 to all and back. `testmp` has a pool of tasks besides, which calculate for seconds.
QUICK = """
for (n=1 ; n<mp_size ; ++n) testmp1, n;
for (n=1 ; n<mp_size ; ++n) testmp2, n;
testmp3;
"""
POOL = """
testmp;
"""

CARGO = """\
[package]
name = "examples"
version = "0.0.0"
edition = "2021"

[workspace]

[dependencies]
mpi = { version = "0.8", features = ["derive", "complex"] }
num-complex = "0.4"

# The examples forbid warnings, and name a condition that rsmpi's own build declares.
[lints.rust]
unexpected_cfgs = "allow"
"""
# MPI_Comm_spawn does not work yet.
LACKING = ["spawn", "spawn_multiple"]
# The standard ABI has no MPI_Fint, with which rsmpi 0.8 declares functions, so that MPICH's mpicc_abi does not compile
# it either. The functions of the same meaning have other names there.
FINT = ["typedef int MPI_Fint;"] + [
    f"#define MPI_{kind}_{old} MPI_{kind}_{new}" for old, new in (("c2f", "toint"), ("f2c", "fromint"))
    for kind in ("Comm", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Type", "Win")]


@pytest.fixture
def yorick(run, tmp_path):
    """yorick(n, commands): what n ranks of it print, sorted, after these commands on rank 0."""
    if not MPY.exists():
        pytest.skip(f"YORICK IS NOT TESTED, {YORICK} is not there: scripts/e2e.sh unpacks it where apt-get is")
    tests = gzip.decompress((YORICK / "usr/share/doc/yorick-mpy-common/examples/testmp.i.gz").read_bytes())
    (tmp_path / "testmp.i").write_bytes(tests)
    path = next(YORICK.glob("usr/lib/*/libX11.so.6")).parent

    def yorick(n, commands):
        (tmp_path / "commands.i").write_text(f'mp_include, "testmp.i";{commands}quit;\n')
        result = run(n, MPY, args=["-batch", "commands.i"], env={"LD_LIBRARY_PATH": str(path)}, cwd=tmp_path)
        assert result.code == 0 and result.err == "", result
        return sorted(line.strip() for line in result.out.splitlines())
    return yorick


@pytest.mark.parametrize("n", [2, 4, 8])
def test_yorick(yorick, n):
    lines = [f"testmp2 passed on all {n} ranks"] * (n - 1) + [f"testmp3 passed on all {n} ranks"]
    for other in range(1, n):
        lines += [f"rank 0 begins test to rank {other}", "rank 0 begins test to rank 0"]
        lines += [f"rank {rank} send/recv worked" for rank in (0, other)]
    assert yorick(n, QUICK) == sorted(lines)


@pytest.mark.skipif(not LONG, reason=LENGTHY)
@pytest.mark.parametrize("n", [2, 4])
def test_yorick_pool(yorick, n):
    pools = [f"mpool {kind} nerrors=0" for kind in
             ("finished (vpack)", "self=1 finished (vsave)", "list= finished (vpack)")]
    passed = [f"testmp{number} passed on all {n} ranks" for number in (2, 3)]
    assert yorick(n, POOL) == sorted(["begin testing mpool", *pools, *passed])


def once(make):
    """A fixture that makes what it gives for an ABI when that is first asked for."""
    def fixture(session):
        made = {}

        def get(abi):
            if abi not in made:
                made[abi] = make(session, abi)
            return made[abi]
        return get
    return pytest.fixture(scope="module")(fixture)


def compiled(session, command, cwd, env=None):
    result = session.call(command, env, timeout=300, cwd=cwd)
    assert result.code == 0, result


@once
def hpcc(session, abi):
    """The program, built as its README says, with the settings for Linux and a Fortran BLAS."""
    if not LONG:
        pytest.skip(LENGTHY)
    if not (HPCC / "hpl/Makefile").exists() or BLAS is None:
        pytest.skip(f"HPCC IS NOT TESTED, {HPCC} or {BLAS} is not there: scripts/e2e.sh unpacks them where apt-get is")
    folder = session.scratch / f"hpcc.{abi}"
    shutil.copytree(HPCC, folder)
    shutil.copy(folder / "hpl/setup/Make.Linux_PII_FBLAS", folder / "hpl")
    blas = f"{BLAS} -Wl,-rpath-link,{BLAS.parents[1]}"
    options = "CCFLAGS=$(HPL_DEFS) -O2 -w -std=gnu99 -D_GNU_SOURCE"
    ours = [f"CC={COMPILERS[abi]}", f"LINKER={COMPILERS[abi]}", "MPinc=", "MPlib=", "LAinc=", f"LAlib={blas}"]
    compiled(session, ["make", "arch=Linux_PII_FBLAS", *ours, options], folder)
    return folder


@pytest.mark.parametrize("n, rows, columns", [(1, 1, 1), (2, 1, 2), (4, 2, 2)])
def test_hpcc(run, hpcc, tmp_path, abi, n, rows, columns):
    folder = hpcc(abi)
    text = (folder / "_hpccinf.txt").read_text()
    for letter, value in (("P", rows), ("Q", columns)):
        text, count = re.subn(rf"^2( +{letter}s)$", rf"{value}\1", text, flags=re.MULTILINE)
        assert count == 1, text
    (tmp_path / "hpccinf.txt").write_text(text)
    path = f"{BLAS.parent}:{BLAS.parents[1]}"
    result = run(n, folder / "hpcc", env={"LD_LIBRARY_PATH": path}, cwd=tmp_path, timeout=300)
    assert result.code == 0 and result.err == "", result
    told = (tmp_path / "hpccoutf.txt").read_text()
    assert "End of HPC Challenge tests." in told, told
    values = dict(re.findall(r"^(\w+)=(\S+)$", told, re.MULTILINE))
    assert values["Success"] == "1" and values["CommWorldProcs"] == str(n), told
    # PTRANS and HPL have each one line for the tests that passed, and one for those that failed.
    passed, failed = (re.findall(rf"^ *(\d+) tests completed and {verdict} residual checks", told, re.MULTILINE)
                      for verdict in ("passed", "failed"))
    assert passed == ["5", "1"] and failed == ["0", "0"] and "FAILED" not in told, told
    assert values["MPIRandomAccess_Errors"] == values["MPIRandomAccess_LCG_Errors"] == "0", told
    assert float(values["PTRANS_residual"]) < 16 and float(values["MPIFFT_maxErr"]) < 1e-12, told


@once
def rsmpi(session, abi):
    """The folder of its examples, built in a project that depends on it."""
    if not LONG:
        pytest.skip(LENGTHY)
    if not shutil.which("cargo"):
        pytest.skip("RSMPI IS NOT TESTED, there is no cargo")
    libraries = Path("/usr/lib")
    if not any(libraries.glob("llvm-*/lib/libclang.so*")) and not any(libraries.glob("*/libclang-[0-9]*.so*")):
        pytest.skip("RSMPI IS NOT TESTED, there is no libclang: Debian's libclang-dev has it")
    folder = session.scratch / f"rsmpi.{abi}"
    (folder / "src").mkdir(parents=True)
    (folder / "src/lib.rs").touch()
    (folder / "Cargo.toml").write_text(CARGO)
    no_waits = {"CARGO_NET_RETRY": "0", "CARGO_HTTP_TIMEOUT": "20"}
    metadata = session.call(["cargo", "metadata", "--format-version", "1"], no_waits, timeout=120, cwd=folder)
    if metadata.code != 0:
        pytest.skip(f"RSMPI IS NOT TESTED, cargo cannot fetch it: {metadata.err[-300:]}")
    packages = json.loads(metadata.out)["packages"]
    [manifest] = [package["manifest_path"] for package in packages if package["name"] == "mpi"]
    shutil.copytree(Path(manifest).parent / "examples", folder / "examples")
    env = {"MPICC": COMPILERS[abi], "CARGO_TARGET_DIR": str(folder / "target")}
    if abi == "std":
        # Its dependencies in assembler are compiled with these options too.
        lines = ["#if !defined(FINT) && !defined(__ASSEMBLER__)", "#define FINT", *FINT, "#endif"]
        (folder / "fint.h").write_text("\n".join(lines) + "\n")
        env |= dict.fromkeys(("CFLAGS", "BINDGEN_EXTRA_CLANG_ARGS"), f"-include {folder}/fint.h")
    compiled(session, ["cargo", "build", "-q", "--examples", "--jobs", "2"], folder, env)
    return folder


def example(run, folder, n, name):
    return run(n, folder / "target/debug/examples" / name, cwd=folder, timeout=30)


@pytest.mark.parametrize("n", [2, 4])
def test_rsmpi(run, rsmpi, abi, n):
    folder = rsmpi(abi)
    # With two ranks cartesian_map asks for a dimension of 0 ranks: an error with Hawser, and none with MPICH.
    elsewhere = ["cartesian_map"] * (n < 4)
    names = sorted({file.stem for file in (folder / "examples").iterdir()} - {*LACKING, *elsewhere})
    results = {name: example(run, folder, n, name) for name in names}
    assert len(names) > 50 and all(result.code == 0 for result in results.values()), "\n".join(
        f"{name}: {result}" for name, result in results.items() if result.code != 0)
