"""Other people's programs, unmodified: Intel's IMB, Debian's NetPIPE, the mpi4py wheel; profiling libraries; linking."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import HERE, ROOT, SOURCES, WHOLE

IMB = ROOT / "build/imb/bin"
NETPIPE = ROOT / "build/netpipe/usr/bin/NPmpich2"
PYTHON = Path(sys.executable)

SINGLE = ["PingPong", "PingPing", "PingPongSpecificSource", "PingPingSpecificSource", "PingPongAnySource", "PingPingAnySource"]
PARALLEL = ["Sendrecv", "Exchange", "Uniband", "Biband"]
COLLECTIVE = [
    "Barrier", "Bcast", "Allreduce", "Reduce", "Reduce_local", "Reduce_scatter", "Reduce_scatter_block", "Allgather",
    "Allgatherv", "Gather", "Gatherv", "Scatter", "Scatterv", "Alltoall", "Alltoallv",
]
P2P = ["PingPong", "PingPing", "Unirandom", "Birandom", "Corandom", "Stencil2D", "Stencil3D"]


# In the order in which IMB-MT runs them.
THREADED = ["PingPongMT", "PingPingMT", "SendRecvMT", "ExchangeMT", "UniBandMT", "BiBandMT", "BarrierMT", "BcastMT", "ReduceMT",
            "AllReduceMT"]


def imb(run, n, *args, parts=False, program="IMB-MPI1", timeout=110, **env):
    """On all `n` ranks at once; with `parts` as the program does by itself, which for most is on 2 and 4 of them before."""
    binary = IMB / program
    if not binary.exists():
        pytest.skip(f"{binary} is not there: scripts/e2e.sh installs it")
    # Intel's OpenMP is beside Intel's own libmpi, before which mpiexec puts Hawser's.
    least = [] if parts else ["-npmin", n]
    result = run(n, binary, [*least, *args], env={"LD_LIBRARY_PATH": str(IMB.parent / "lib")} | env, timeout=timeout)
    assert result.code == 0 and result.err == "", result
    return result


def rows(text):
    """The lines of figures of IMB's tables."""
    return [line.split() for line in text.splitlines() if re.match(r"\s+\d+\s+\d+", line)]


@pytest.mark.parametrize("name, n", [(name, 2) for name in SINGLE + PARALLEL]
                         + [(name, 4) for name in PARALLEL] + [(name, n) for name in COLLECTIVE for n in (2, 3, 4)])
def test_imb_mpi1(run, name, n):
    result = imb(run, n, "-msglog", "0:16", "-iter", "10", name)
    assert re.search(rf"# Benchmarking {name}\b", result.out), result
    if name == "Barrier":
        assert re.search(r"^\s+10\s+[\d.]+", result.out, re.MULTILINE), result
    else:
        sizes = [int(row[0]) for row in rows(result.out)]
        assert sizes[-1] == 65536 and len(sizes) in (16, 18), result  # reductions begin at 4 bytes


NONBLOCKING = ["Ibarrier", "Ibcast", "Iallgather", "Iallgatherv", "Iallreduce", "Ialltoall", "Ialltoallv", "Igather",
               "Igatherv", "Ireduce", "Ireduce_scatter", "Iscatter", "Iscatterv"]


@pytest.mark.parametrize("name", NONBLOCKING)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_imb_nbc(run, name, n):
    """Each alone, and with the computation that it is to overlap with."""
    result = imb(run, n, "-msglog", "0:16", "-iter", "5", name, f"{name}_pure", program="IMB-NBC")
    for benchmark in (name, f"{name}_pure"):
        assert re.search(rf"# Benchmarking {benchmark}\b", result.out), result
    if name != "Ibarrier":
        assert [row[0] for row in rows(result.out)].count("65536") == 2, result


@pytest.mark.parametrize("n, threads", [(2, 1), (2, 2), (2, 4), (3, 2), (4, 2)])
def test_imb_mt(run, n, threads):
    """All of it, on all ranks: it has no -npmin. It checks what arrives."""
    args = ["-thread_level", "multiple", "-check", "true", "-repeat", "10", "-warmup", "2", "-count", "1,8,1000,20000"]
    result = imb(run, n, *args, parts=True, program="IMB-MT", OMP_NUM_THREADS=str(threads))
    assert re.findall(r"# Benchmarking (\w+)", result.out) == THREADED, result
    assert "CHECK FAILURES" not in result.out, result


# All that each program lists, also what it runs only where it is named.
@pytest.mark.timeout(620)
@pytest.mark.parametrize("n", [2, 3, 4, 5] if WHOLE else [4])
@pytest.mark.parametrize("program, names", [
    ("IMB-MPI1", SINGLE + PARALLEL + COLLECTIVE), ("IMB-NBC", [name + kind for name in NONBLOCKING for kind in ("", "_pure")])])
def test_imb_whole(run, program, names, n):
    """One job for all of it: on two ranks, on four, and on all."""
    args = ["-msglog", "0:20", "-iter", "20", "-time", "0.2", "-include", ",".join(names)]
    result = imb(run, n, *args, parts=True, program=program, timeout=600)
    assert set(re.findall(r"# Benchmarking (\w+)", result.out)) == set(names), result


def test_imb_mpi1_as_a_whole_run_of_long_messages(run):
    result = imb(run, 2, "-msglog", "20:22", "-iter", "5", "PingPong", "Sendrecv", "Bcast", "Allreduce")
    assert len(rows(result.out)) >= 4 * 3, result


@pytest.mark.parametrize("name", P2P)
@pytest.mark.parametrize("n", [2, 4])
def test_imb_p2p(run, name, n):
    if name == "Stencil3D" and n == 2:
        pytest.skip("Stencil3D runs with other numbers of ranks")
    result = imb(run, n, "-iter", "10", "-len", "1,1000,70000", name, program="IMB-P2P")
    assert name in result.out, result


def test_netpipe(run, session):
    """NPmpich2 of Debian asks for libmpich.so.12."""
    if not NETPIPE.exists():
        pytest.skip("NetPIPE is not there: scripts/e2e.sh unpacks it where apt-get is")
    output = session.scratch / "np.out"
    result = run(2, NETPIPE, ["-u", "66000", "-n", "5", "-o", output])
    assert result.code == 0, result
    bytes_ = [int(line.split()[0]) for line in output.read_text().splitlines()]
    assert bytes_[0] == 1 and bytes_[-1] >= 65536 and bytes_ == sorted(bytes_)


def test_netpipe_with_integrity_check_and_other_kinds_of_sending(run, session):
    if not NETPIPE.exists():
        pytest.skip("NetPIPE is not there: scripts/e2e.sh unpacks it where apt-get is")
    for options in (["-i"], ["-a"], ["-S"], ["-a", "-2"]):
        result = run(2, NETPIPE, [*options, "-u", "20000", "-n", "5", "-o", session.scratch / "np.out"])
        assert result.code == 0 and "ailed" not in result.out + result.err, result


@pytest.mark.parametrize("script", sorted(path.name for path in (HERE / "python").glob("*.py")))
@pytest.mark.parametrize("n", [1, 2, 4])
def test_mpi4py(run, script, n):
    result = run(n, PYTHON, [HERE / "python" / script], timeout=100)
    assert result.code == 0 and result.err == "", result


def test_mpi4py_bench(run):
    result = run(4, PYTHON, ["-m", "mpi4py.bench", "helloworld"])
    assert result.code == 0, result
    assert sorted(re.findall(r"I am process (\d) of 4", result.out)) == list("0123"), result
    result = run(3, PYTHON, ["-m", "mpi4py.bench", "ringtest", "-n", "1000", "-l", "100"])
    assert result.code == 0 and re.search(r"time for 100 loops = .* \(3 processes, 1000 bytes\)", result.out), result


def test_mpi4py_runs_our_library(run, prefix):
    program = "from mpi4py import MPI; print(MPI.Get_library_version()); print(open('/proc/self/maps').read())"
    result = run(1, PYTHON, ["-c", program])
    assert result.code == 0 and "Hawser" in result.out.splitlines()[0], result
    assert str(prefix.resolve() / "lib/libmpi") in result.out, result


def test_an_interposed_library_sees_the_programs_calls_alone(session, run, abi):
    counter = session.build("preload_counter.c", abi, "-shared", "-fPIC", "-ldl", name=f"counter-{abi}.so")
    result = run(2, session.build("interposed.c", abi), options=["-genv", "LD_PRELOAD", counter])
    assert result.code == 0, result
    assert sorted(result.err.splitlines()) == [
        "sends 0 receives 1 bcasts 4 others 2", "sends 1 receives 0 bcasts 4 others 2"], result


def test_a_program_that_is_not_pie_shares_the_librarys_data(session, run, abi):
    program = session.build("nonpie.c", abi, "-no-pie", "-fno-pie", name=f"nonpie-{abi}")
    assert "EXEC" in subprocess.run(["readelf", "-h", program], capture_output=True, text=True).stdout
    result = run(2, program)
    assert result.code == 0 and result.err == "", result


def test_a_program_loads_the_installed_library(session, prefix, abi):
    library = {"mpich": "libmpi.so.12", "std": "libmpi_abi.so.1"}[abi]
    told = subprocess.run(["ldd", session.build("hello.c", abi)], capture_output=True, text=True,
                          env=session.environment()).stdout
    assert re.search(rf"{re.escape(library)} => {re.escape(str(prefix / 'lib' / library))} ", told), told


def test_a_program_linked_like_debians_finds_libmpich(session, run, prefix):
    """Debian's MPICH programs ask for libmpich.so.12: here one is linked against a stub of that name."""
    names = re.findall(r" T (P?MPI_\w+)", subprocess.run(["nm", "-D", "--defined-only", prefix / "lib/libmpi.so.12"],
                                                        capture_output=True, text=True, check=True).stdout)
    stub = session.scratch / "libmpich.so"
    source = "\n".join(f"void {name}(void) {{}}" for name in names)
    subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", "-Wl,-soname,libmpich.so.12", "-o", stub], input=source,
                   text=True, check=True)
    program = session.scratch / "debian-hello"
    subprocess.run(["cc", SOURCES / "hello.c", "-o", program, f"-I{prefix / 'include'}", f"-L{session.scratch}",
                    "-lmpich"], check=True)
    needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True).stdout
    assert "libmpich.so.12" in needed and "libmpi.so.12" not in needed
    result = run(3, program, ["hello"])
    assert result.code == 0 and sorted(result.out.splitlines()) == [f"{i} of 3" for i in range(3)], result


def test_cmake_finds_mpi(session, run, prefix):
    if not shutil.which("cmake"):
        pytest.skip("there is no cmake: scripts/setup.sh installs it")
    source = session.scratch / "project"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(hello C)\nfind_package(MPI REQUIRED COMPONENTS C)\n"
        f"add_executable(hello {SOURCES / 'hello.c'})\ntarget_link_libraries(hello MPI::MPI_C)\n"
        "message(STATUS \"found ${MPI_C_VERSION} ${MPIEXEC_EXECUTABLE}\")\n")
    told = session.call(["cmake", "-S", source, "-B", source / "build"])
    assert told.code == 0, told
    assert re.search(rf"found [45]\.\d {re.escape(str(prefix / 'bin/mpiexec'))}", told.out), told
    assert session.call(["cmake", "--build", source / "build"]).code == 0
    result = run(2, source / "build/hello")
    assert result.code == 0 and result.err == "", result


@pytest.mark.parametrize("module", ["mpi", "mpich", "mpi_abi"])
def test_pkg_config_finds_mpi(session, run, prefix, module):
    if not shutil.which("pkg-config"):
        pytest.skip("there is no pkg-config: scripts/setup.sh installs it")
    env = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = session.call(["pkg-config", "--cflags", "--libs", module], env)
    assert flags.code == 0, flags
    program = session.scratch / f"pkg-{module}"
    subprocess.run(["cc", SOURCES / "hello.c", "-o", program, *flags.out.split()], check=True)
    result = run(2, program)
    assert result.code == 0 and result.err == "", result


def test_cxx_wrapper_compiles(session, run, prefix):
    source = session.scratch / "hello.cc"
    source.write_text("#include <mpi.h>\n#include <cstdio>\nint main(int argc, char **argv) {\n"
                      "  MPI_Init(&argc, &argv); int n = 0; MPI_Comm_size(MPI_COMM_WORLD, &n);\n"
                      "  std::printf(\"%d\\n\", n); MPI_Finalize(); }\n")
    for compiler in ("mpicxx", "mpic++", "mpicxx_abi"):
        program = session.scratch / f"hello-{compiler}"
        subprocess.run([prefix / "bin" / compiler, source, "-o", program], check=True)
        result = run(2, program)
        assert result.code == 0 and result.out == "2\n2\n", result


def test_without_mpiexec_every_program_is_a_job_of_one(session, build, abi):
    result = session.call([build("hello.c", abi), "alone"])
    assert result.code == 0 and result.out == "0 of 1\n" and result.err == "", result
    result = session.call([build("p2p_self.c", abi)])
    assert result.code == 0 and result.err == "", result


def test_mpi4py_imb_and_netpipe_run_alone(session, prefix):
    library = {"LD_LIBRARY_PATH": str(prefix / "lib")}
    result = session.call([PYTHON, "-c", "from mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(3), MPI.COMM_WORLD.size)"],
                          library)
    assert result.code == 0 and result.out == "3 1\n", result
    if (IMB / "IMB-MPI1").exists():
        result = session.call([IMB / "IMB-MPI1", "-npmin", "1", "-iter", "2", "-msglog", "0:3", "Allreduce"], library)
        assert result.code == 0 and rows(result.out), result


@pytest.mark.parametrize("variable", ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_a_step_of_another_launcher_is_refused_in_one_line(session, build, abi, variable):
    result = session.call([build("hello.c", abi)], {variable: "2"})
    assert result.code != 0 and result.out == "", result
    lines = result.err.splitlines()
    assert len(lines) == 1 and f"{variable}=2" in lines[0] and "mpiexec" in lines[0], result
    assert session.call([build("hello.c", abi)], {variable: "1"}).code == 0


def test_our_mpiexec_within_a_step_of_another_launcher_runs(run, build, abi):
    result = run(2, build("hello.c", abi), ["yes"], env={"SLURM_STEP_NUM_TASKS": "2", "PMI_SIZE": "2"})
    assert result.code == 0 and sorted(result.out.splitlines()) == ["0 of 2", "1 of 2"], result


def test_debuggers_run_ranks(run, build, abi):
    for tool, options in (("valgrind", ["-q", "--error-exitcode=9"]),
                          ("gdb", ["-q", "-batch", "-ex", "run", "-ex", "print $_exitcode", "--args"])):
        if not shutil.which(tool):
            pytest.skip(f"there is no {tool}: scripts/setup.sh installs it")
        result = run(2, tool, [*options, build("hello.c", abi), "hello"], timeout=110)
        assert result.code == 0, result
        assert "0 of 2" in result.out and "1 of 2" in result.out, result


def test_libraries_export_nothing_but_mpi(prefix):
    for library in ("libmpi.so.12", "libmpi_abi.so.1"):
        told = subprocess.run(["nm", "-D", "--defined-only", prefix / "lib" / library], capture_output=True, text=True,
                              check=True).stdout
        exported = {line.split()[-1].split("@")[0] for line in told.splitlines()}
        strangers = {name for name in exported if not re.match(r"P?MPI(X|_T)?_|MPIR_[A-Z0-9_]+$", name)}
        # The MPICH ABI's data symbols and callbacks have names of their own.
        assert not {name for name in strangers if "hawser" in name.lower() or name.startswith(("rust", "_ZN", "_R"))}
        assert len(exported) > 900, library


def test_hawser_info_and_mpiexec_say_what_they_are(session, prefix):
    told = session.call([prefix / "bin/hawser-info"])
    assert told.code == 0 and "Hawser" in told.out, told
    told = session.call([prefix / "bin/hawser-info", "--collectives", "8"], env={"HAWSER_COLL_SCAN": "chain"})
    assert told.code == 0 and "HAWSER_COLL_SCAN=chain (" in told.out and "all on this host  chain\n" in told.out, told
    told = session.call([prefix / "bin/hawser-info", "--collectives", "8"], env={"HAWSER_COLL_SCAN": "x"})
    assert told.code == 1 and "HAWSER_COLL_SCAN=x is not one of auto, " in told.err, told
    told = session.call([prefix / "bin/hawser-info", "--methods", "shm"],
                        env={"HAWSER_EAGER": "20000", "HAWSER_PROCESS_VM_FROM": "1m"})
    rows = dict(line.strip().split("  ", 1) for line in told.out.splitlines() if line.startswith("  "))
    row = rows["the receive comes first"].strip()
    short = "up to 16384: eager; up to 20000: eager stream; "
    # The first one where process_vm_readv is permitted.
    rows = [short + "up to 1048575: RTR reply; longer: remote read", short + "longer: RTR reply"]
    assert told.code == 0 and row in rows, told
    told = session.call([prefix / "bin/hawser-info", "--methods", "shm"], env={"HAWSER_OFFER_FROM": "0"}).out
    assert "  the receive comes first               RTR reply\n" in told, told
    # With a threshold of offers nothing is read from private memory, on whatever machine.
    told = session.call([prefix / "bin/hawser-info", "--methods", "shm"],
                        env={"HAWSER_RTR": "off", "HAWSER_OFFER_FROM": "131073"}).out
    assert "RTR" not in told and told.count("longer: rendezvous\n") == 2, told
    assert session.call([prefix / "bin/hawser-info", "--methods"]).out.count("the send comes first") == 4
    told = session.call([prefix / "bin/hawser-info", "--methods", "tcp"])
    assert told.code == 2 and "[possible values: self, shm, ether, all]" in told.err, told
    told = session.call([prefix / "bin/mpiexec", "--info"])
    assert told.code == 0 and str(prefix / "lib") in told.out, told
    assert session.call([prefix / "bin/mpicc", "-show"]).out.split()[0] == os.environ.get("CC", "cc")


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}


def intel():
    library = IMB.parent / "lib/libmpi.so.12"
    if not library.exists():
        pytest.skip(f"{library} is not there: scripts/e2e.sh installs it")
    return library


def test_the_list_of_what_intel_mpi_lacks_is_true(prefix):
    """crates/abi/tests/intel_lacks.txt, by which headers.rs looks at what programs ask for."""
    text = (ROOT / "crates/abi/tests/intel_lacks.txt").read_text()
    lacks = {line for line in text.splitlines() if not line.startswith("#")}
    ours = {name for name in exported(prefix / "lib/libmpi.so.12") if name.startswith("MPI")}
    assert lacks == ours - exported(intel())


@pytest.mark.parametrize("source", ["conversions.c", "hello.c"])
def test_a_program_built_by_our_mpicc_runs_on_intel_mpi(session, build, source):
    """Nothing but the library's name ties a program to Hawser."""
    root, program = intel().parents[1], build(source, "mpich")
    environment = {"LD_LIBRARY_PATH": str(root / "lib"), "I_MPI_ROOT": str(root), "I_MPI_FABRICS": "shm",
                   "FI_PROVIDER_PATH": str(root / "lib"), "PATH": f"{root / 'bin'}:{os.environ['PATH']}"}
    done = session.call([root / "bin/mpiexec.hydra", "-n", "2", program], env=environment, timeout=60)
    assert done.code == 0 and "rror" not in done.err, done
