"""mpi4py's own tests, each module a job: by its wheel (MPICH ABI), and by mpi4py built with our mpicc_abi (standard ABI).

Every module of its source package is run or has its reason here, as has every test that is skipped where MPICH's is not.
`make test` runs the wheel at four ranks; scripts/check-long.sh all of it (WHOLE), and test_ethernet.py runs the same modules between hosts.
"""

import json
import re
import sys
from pathlib import Path

import pytest
from harness import HERE, ROOT, WHOLE

SOURCE = ROOT / "build/mpi4py-source"
PYTHON = {"wheel": Path(sys.executable), "std": ROOT / "build/mpi4py-std/bin/python"}
MPICH = ROOT / "build/mpich"
SUITE = HERE / "mpi4py_suite.py"

MODULES = [
    "address", "attributes", "buffer", "cco_buf", "cco_buf_inter", "cco_nb_buf", "cco_nb_vec", "cco_ngh_buf", "cco_ngh_obj", "cco_obj",
    "cco_obj_inter", "cco_pr_buf", "cco_pr_ngh_buf", "cco_pr_vec", "cco_vec", "cco_vec_inter", "cffi", "comm", "comm_inter", "comm_topo",
    "ctypes", "datatype", "doc", "environ", "errhandler", "errorcode", "exceptions", "grequest", "group", "handle", "info", "mpiabi",
    "mpiapi", "mpimem", "msgspec", "msgzero", "objmodel", "op", "p2p_buf", "p2p_buf_matched", "p2p_buf_part", "p2p_obj",
    "p2p_obj_matched", "pack", "package", "pickle", "request", "session", "status", "subclass", "threads", "toplevel", "ulfm",
    "util_dtlib", "util_pkl5", "util_pool"]
# Those that need as a whole what is not there: windows, files, MPI_Comm_spawn, MPI_Comm_accept and MPI_Comm_join.
NOT_THERE_YET = ["dynproc", "file", "io", "rma", "rma_nb", "spawn", "util_sync", "win"]
# Those that compute for long without the others of their job: outside WHOLE one rank does.
ALONE = ["datatype", "pack", "util_dtlib"]
# Asks for answers within two seconds: only in WHOLE, with nothing beside it.
TIMED = ["util_pool"]
# What skips tests: windows or files, which are not there yet; too few ranks, or more than one; packages that are not installed;
# functions of ULFM, which the wheel does not ask for.
NEEDS_WINDOWS_OR_FILES = r"mpi-(win|rma)\b.*|mpi-(file|io)|Win|File|not there yet"
REASONS = rf"{NEEDS_WINDOWS_OR_FILES}|mpi-world-size.*|comm\.size==1|cupy|numba|dill|yaml|mpi-comm_revoke"

RUNS = [("wheel", 1 if name in ALONE else 4, name) for name in MODULES if name not in TIMED]
if WHOLE:
    # At one rank util_pool spawns its workers.
    RUNS = [(kind, n, name) for kind in PYTHON for n in (1, 2, 3, 4, 5) for name in MODULES if (name, n) != ("util_pool", 1)]


@pytest.fixture(autouse=True)
def source():
    if not (SOURCE / "test").exists():
        pytest.skip("not tested, mpi4py's source package is not here (scripts/mpi4py-source.sh)")


def results(out, n):
    """How many tests each rank ran, and why it skipped how many: the same on all ranks, or the ranks did not do the same."""
    # MPICH's mpiexec puts lines of several ranks into one.
    ranks = [json.loads(found) for found in re.findall(r'\{"ran": .*?\}\}', out)]
    assert len(ranks) == n and len({rank["ran"] for rank in ranks}) == 1, out
    return ranks[0]["ran"], ranks[0]["skipped"]


def job(run, kind, n, name, tmp):
    """Modules leave files in TMPDIR where their functions are not there yet."""
    return run(n, PYTHON[kind], [SUITE, SOURCE, f"test_{name}"], env={"TMPDIR": str(tmp)}, timeout=300)


@pytest.mark.timeout(320)
@pytest.mark.parametrize("kind, n, name", RUNS)
def test_mpi4pys_own(run, tmp_path, kind, n, name):
    result = job(run, kind, n, name, tmp_path)
    assert result.code == 0, result
    ran, skipped = results(result.out, n)
    print(f"{kind} {n} {name}: {ran} tests, skipped {skipped}")
    assert ran > 0 and all(re.fullmatch(REASONS, reason) for reason in skipped), skipped


def test_every_module_is_known():
    assert sorted(path.stem for path in (SOURCE / "test").glob("test_*.py")) == sorted(f"test_{name}" for name in MODULES + NOT_THERE_YET)


@pytest.mark.timeout(620)
@pytest.mark.parametrize("name", MODULES if WHOLE else [])
def test_nothing_is_skipped_that_mpich_runs(session, run, tmp_path, name):
    """But what needs windows or files. MPICH's mpiexec runs the same wheel at two ranks; tests that fail there are not ours to mend."""
    env = {"LD_LIBRARY_PATH": str(MPICH / "lib"), "TMPDIR": str(tmp_path)}
    peer = session.call([MPICH / "bin/mpiexec", "-n", 2, PYTHON["wheel"], SUITE, SOURCE, f"test_{name}"], env, timeout=300)
    (ran, skipped), (peer_ran, peer_skipped) = results(job(run, "wheel", 2, name, tmp_path).out, 2), results(peer.out, 2)
    extra = {reason: count - peer_skipped.get(reason, 0) for reason, count in skipped.items()}
    print(f"{name}: {ran} tests, skipped {skipped}; MPICH {peer_ran}, {peer_skipped}")
    assert ran == peer_ran and all(re.fullmatch(NEEDS_WINDOWS_OR_FILES, reason) for reason in extra if extra[reason] > 0), extra
