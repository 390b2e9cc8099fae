"""Fixtures of the end-to-end tests, and the check after each of them that nothing of ours is left."""

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import harness  # noqa: E402
import lab as laboratory  # noqa: E402

# `nohup make test` and a shell's background leave these ignored, and programs inherit that. One that is caught here is
# the programs' default again, and still does not end the tests.
for inherited in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(inherited) == signal.SIG_IGN:
        signal.signal(inherited, lambda *_: None)


# The files that take longest, the longest first: begun last, one of them would go on when all other workers have ended.
LONGEST = ["test_programs", "test_mpi4py", "test_ethernet", "test_death", "test_rails", "test_binaries", "test_fortran",
           "test_fortran_binaries", "test_lab", "test_progress", "test_errors", "test_random", "test_phases",
           "test_limits", "test_soak"]


def pytest_collection_modifyitems(items):
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(LONGEST)))


@pytest.fixture(scope="session")
def session():
    session = harness.Session()
    yield session
    session.close()


@pytest.fixture(scope="session")
def prefix(session):
    return session.prefix


@pytest.fixture(params=["mpich", "std"])
def abi(request):
    return request.param


@pytest.fixture
def build(session):
    return session.build


@pytest.fixture
def run(session):
    """run(n, program, args=(), options=(), env=None, timeout=60): mpiexec's exit code and output."""
    return session.mpiexec


@pytest.fixture(scope="module")
def features():
    """What this machine has of what a lab needs; skips aloud where there can be none."""
    if lacking := laboratory.missing():
        pytest.skip(f"NOTHING IS TESTED IN A LAB, this machine lacks: {lacking}")
    return laboratory.features()


@pytest.fixture
def make(features, session):
    """make(hosts=..., ...): a lab whose processes carry the suite's mark, ended with the test."""
    labs = []

    def make(**arguments):
        labs.append(laboratory.Lab(env=session.environment(), **arguments))
        return labs[-1]

    yield make
    for one in labs:
        one.close()


@pytest.fixture(autouse=True)
def nothing_is_left(session):
    before = session.snapshot()
    yield
    session.check_clean(before)
