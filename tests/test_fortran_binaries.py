"""Debian's test programs of ScaLAPACK, unmodified, as they were built for MPICH.

All of them communicate by the BLACS, which call MPI from C and hand out MPICH's Fortran handles. Four call MPI from
Fortran besides, and so ask for libmpichfort.so.12: those run with Hawser's and with Debian's, both over Hawser's
libmpich.so.12.
"""

import re
import shutil

import pytest
from harness import LONG, ROOT

DEBIAN = ROOT / "build/scalapack"
DATA = DEBIAN / "usr/share/scalapack"
PROGRAMS = next(DEBIAN.glob("usr/lib/*/scalapack/mpich-tests"), None)
LIBRARIES = PROGRAMS and PROGRAMS.parents[1]
# xdsyevr takes 40 s on two cores.
pytestmark = [pytest.mark.timeout(320), pytest.mark.skipif(PROGRAMS is None or not DATA.is_dir(), reason=(
    f"NO FORTRAN PROGRAM OF DEBIAN IS TESTED, {DEBIAN} is not there: scripts/e2e.sh unpacks it where apt-get is"))]

# Each of them takes some tenths of a second on two cores.
QUICK = ["PBLAS/dpb1tst", "PBLAS/cpb2tst", "PBLAS/zpb3tst", "xdlu", "xcdblu", "xzdtlu", "xsgblu", "xzpbllt", "xdptllt",
         "xzinv", "xcqr", "xcls", "xsbrd", "xdhrd", "xctrd", "xssvd", "xcsep", "xzgsep", "xznep", "xzevc"]
ROUTINES = ["lu", "dblu", "dtlu", "gblu", "llt", "pbllt", "ptllt", "inv", "qr", "ls", "brd", "hrd", "trd", "svd", "sep",
            "gsep", "nep", "evc", "syevr"]
# ScaLAPACK has no such program. xcheevr and xzheevr are not among the routines: they compare a variable that nobody has
# set, and so fail with whatever MPI.
ABSENT = ["xcsvd", "xzsvd", "xsevc", "xdevc", "xcsyevr", "xzsyevr"]
ALL = [f"PBLAS/{letter}pb{level}tst" for letter in "sdcz" for level in "123"]
ALL += [name for letter in "sdcz" for routine in ROUTINES if (name := f"x{letter}{routine}") not in ABSENT]
# The input files of these ask for four ranks.
FOUR = ("svd", "sep", "syevr")
# The process grids with which the tester of the BLACS runs, as NPROW and NPCOL.
GRIDS = {2: ("1 2", "2 1"), 4: ("2 4 1", "2 1 4")}


@pytest.fixture
def folder(tmp_path):
    """Where a program runs: it reads its input from there."""
    for file in DATA.rglob("*.dat"):
        shutil.copy(file, tmp_path)
    return tmp_path


@pytest.fixture(params=["Hawser's", "Debian's"])
def fortran(request, run, prefix, folder):
    """fortran(n, program): its result with that libmpichfort.so.12, which indeed was the one that all ranks loaded."""
    debians = request.param == "Debian's"
    library = (LIBRARIES if debians else prefix / "lib") / "libmpichfort.so.12"

    def fortran(n, program):
        # mpiexec puts Hawser's libraries before all others: only what is preloaded comes before them.
        preload = ["-genv", "LD_PRELOAD", library] if debians else []
        log = ["-genv", "LD_DEBUG", "libs", "-genv", "LD_DEBUG_OUTPUT", folder / "loaded"]
        result = started(run, folder, n, program, [*preload, *log])
        told = [file.read_text() for file in folder.glob("loaded.*")]
        loaded = [set(re.findall(r"calling init: (\S+/libmpi\S+)", text)) for text in told]
        # Hawser's libmpich.so.12 is its libmpi.so.12, and the program gets it by either name.
        hawser = {str(prefix / "lib" / name) for name in ("libmpi.so.12", "libmpich.so.12")}
        assert len(loaded) == n, loaded
        assert all(str(library) in found and len(found) == 2 and found & hawser for found in loaded), loaded
        return result

    return fortran


def started(run, folder, n, program, options=()):
    path = ":".join(str(LIBRARIES / name) for name in ("", "blas", "lapack"))
    return run(n, PROGRAMS / program, options=options, env={"LD_LIBRARY_PATH": path}, cwd=folder, timeout=300)


def checks(text):
    """How many checks passed and how many failed, as the program itself sums them up."""
    if rows := re.findall(r"^ *\| +P\w+ +\d+ +(\d+) +(\d+) +\d+ *$", text, re.MULTILINE):  # the PBLAS
        return tuple(sum(map(int, column)) for column in zip(*rows, strict=True))
    if "tests completed" in text:
        return tuple(int(re.search(rf"^ *(\d+) tests completed and {verdict}\b", text, re.MULTILINE)[1])
                     for verdict in ("passed", "failed"))
    # xssvd and xshseqr have one line for each check, with the verdict before or behind the figures.
    verdicts = re.findall(r"^(\w+) +\d\S+ .* [NPT] *$|^(?: +\d+){4} +[\d.]+ +(\w+) *$", text, re.MULTILINE)
    passed = sum((before or behind).upper() == "PASSED" for before, behind in verdicts)
    return passed, len(verdicts) - passed


def holds(result):
    # The Fortran library tells which floating-point exceptions a program leaves at its end.
    note = "Note: The following floating-point exceptions are signalling"
    rest = [line for line in result.err.splitlines() if not line.startswith(note)]
    passed, failed = checks(result.out)
    assert result.code == 0 and rest == [] and passed > 0 and failed == 0, result


@pytest.mark.parametrize("name, n", [(name, n) for name in (ALL if LONG else QUICK) for n in (2, 4)
                                     if n == 4 or not name.endswith(FOUR)])
def test_scalapack(run, folder, name, n):
    result = started(run, folder, n, name)
    holds(result)
    assert re.search("end of tests", result.out, re.IGNORECASE), result


@pytest.mark.parametrize("name", ["xshseqr", "xdhseqr"] if LONG else ["xshseqr"])
@pytest.mark.parametrize("n", [2, 4])
def test_scalapack_by_fortran(fortran, name, n):
    """Its programs that call MPI from Fortran."""
    holds(fortran(n, name))


@pytest.mark.parametrize("program", ["xFbtest", "xCbtest"])
@pytest.mark.parametrize("n", [2, 4])
def test_blacs(fortran, folder, program, n):
    """Their tester: its processes gather what they have found by MPI from Fortran."""
    # On four ranks its auxiliary tests wait for twelve seconds. On two it leaves the one that waits out.
    auxiliary = LONG or n == 2
    for file in folder.glob("*.dat"):
        file.write_text(of_input(file.read_text(), GRIDS[n], None if LONG else 2, auxiliary))
    result = fortran(n, program)
    kinds = re.findall(r" TESTS; +(\d+) PASSED, +\d+ SKIPPED, +(\d+) FAILED", result.out)
    # It sends and broadcasts five types of elements, and reduces four: it leaves DOUBLE PRECISION out, with any MPI.
    assert len(kinds) == 2 * 5 + 3 * 4, result
    assert all(int(passed) > 0 and int(failed) == 0 for passed, failed in kinds), result
    passed = len(re.findall(r"^ PASSED  ", result.out, re.MULTILINE))
    assert passed == ({2: 5, 4: 6}[n] if auxiliary else 0) and "FAILED  " not in result.out, result
    if auxiliary:
        # The last of them is that BLACS_ABORT ends the job.
        assert result.code == 255 and result.out.rstrip().endswith("your BLACS_ABORT is incorrect."), result
        assert re.search(r"^mpiexec: rank \d+ .* MPI_Abort was called on MPI_COMM_WORLD$", result.err, re.M), result
    else:
        assert result.code == 0, result


def of_input(text, grids, topologies, auxiliary):
    """An input file of the tester, with these process grids, the first of its topologies, and the tests wanted."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if "Number of grids" in line:
            lines[at:at + 3] = [f"{len(grids[0].split())} Number of grids", f"{grids[0]} NPROW", f"{grids[1]} NPCOL"]
        if topologies and "Number of topologies" in line:
            lines[at] = f"{topologies} Number of topologies"
        if not auxiliary and "Run AUX?" in line:
            lines[at] = "'F' Run AUX?"
    return "\n".join(lines) + "\n"
