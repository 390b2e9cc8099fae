"""Fixtures of the end-to-end tests, and the check after each of them that nothing of ours is left."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import harness  # noqa: E402


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


@pytest.fixture(autouse=True)
def nothing_is_left(session):
    before = session.snapshot()
    yield
    session.check_clean(before)
