"""Ranks that are started one by one, without mpiexec: they meet by the file of HAWSER_RENDEZVOUS."""

import signal
import socket
import time
from pathlib import Path

import pytest
from harness import GRACE_OF_LABS_S, eventually

HOST = socket.gethostname()


class ByHand:
    """Ranks of a job that a test starts itself."""

    def __init__(self, session):
        self.session = session
        self.file = session.tmp / "rendezvous"
        self.ranks = {}

    def start(self, rank, size, program, *args, **env):
        variables = {"HAWSER_RENDEZVOUS": str(self.file), "HAWSER_RANK": str(rank), "HAWSER_SIZE": str(size)}
        self.ranks[rank] = self.session.start([program, *args], variables | env)
        return self.ranks[rank]

    def start_all(self, size, program, *args, order=None, **env):
        for rank in order or range(size):
            self.start(rank, size, program, *args, **env)

    def started(self):
        """Waits until each of them watches the others."""
        eventually(lambda: all("hawser-watch" in threads(process.pid) for process in self.ranks.values()))

    def end(self, timeout=GRACE_OF_LABS_S):
        """Exit code, output and errors of each rank, by its number."""
        ended = {}
        for rank, process in self.ranks.items():
            out, err = process.communicate(timeout=timeout)
            ended[rank] = (process.returncode, out, err)
        return [ended[rank] for rank in sorted(ended)]


@pytest.fixture
def by_hand(session):
    job = ByHand(session)
    yield job
    for process in job.ranks.values():
        if process.poll() is None:
            process.kill()
        process.communicate()


def threads(pid):
    """The names of a process's threads."""
    return [(thread / "comm").read_text().strip() for thread in Path(f"/proc/{pid}/task").iterdir()]


def lines(ended):
    return [line for _, _, err in ended for line in err.splitlines()]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0]], ids=["0 first", "0 last"])
def test_ranks_meet_and_know_each_other(by_hand, build, abi, order):
    by_hand.start_all(4, build("hello.c", abi), "say", order=order)
    assert by_hand.end() == [(0, f"{rank} of 4\n", "") for rank in range(4)]
    assert not by_hand.file.exists()


# Programs of tests/c with their cases, and a number of ranks.
PROGRAMS = ["hello.c 1", "hello.c 8", "p2p_sizes.c private 3", "p2p_sizes.c shared 3", "alloc_mem.c mapped 2",
            "coll_alltoall.c 5", "coll_reduce.c 8", "comm_idup.c 4", "threads.c any 3", "random.c 1 6", "sessions.c alone 3",
            "sessions.c again 3", "sessions.c several 3", "sessions.c subsets 5", "sessions.c world 2"]


@pytest.mark.parametrize("line", PROGRAMS)
def test_programs_run_as_they_do_below_mpiexec(by_hand, build, abi, line):
    source, *case, size = line.split()
    by_hand.start_all(int(size), build(source, abi), *case)
    assert by_hand.end(timeout=90) == [(0, "", "")] * int(size)


def test_the_same_file_serves_one_job_after_another(by_hand, build):
    for _ in range(3):
        by_hand.start_all(2, build("hello.c"), "say")
        assert by_hand.end() == [(0, "0 of 2\n", ""), (0, "1 of 2\n", "")]


@pytest.mark.parametrize("missing", [0, 2])
def test_a_rank_that_does_not_come_is_named(by_hand, build, abi, missing):
    program = build("hello.c", abi)
    for rank in {0, 1, 2} - {missing}:
        by_hand.start(rank, 3, program, HAWSER_RENDEZVOUS_S="2")
    ended = by_hand.end()
    for code, out, err in ended:
        assert code != 0 and out == "" and len(err.splitlines()) == 1, ended
        assert f"rank {missing} of 3 has not joined within 2 s" in err and "HAWSER_RENDEZVOUS_S" in err, ended
    assert not by_hand.file.exists()


def test_ranks_that_do_not_agree_on_their_number_are_told(by_hand, build, abi):
    program = build("hello.c", abi)
    by_hand.start(0, 4, program)
    by_hand.start(1, 3, program)
    ended = by_hand.end()
    expected = f"HAWSER_SIZE is 4 for rank 0 on host {HOST} and 3 for rank 1 on host {HOST}; " \
               "set it to the same value on all ranks"
    for code, out, err in ended:
        assert code != 0 and out == "" and len(err.splitlines()) == 1 and expected in err, ended
        assert "mpiexec" not in err, ended
    assert not by_hand.file.exists()


def test_terms_that_ranks_do_not_share_are_told(by_hand, build):
    program = build("hello.c")
    by_hand.start(0, 2, program)
    by_hand.start(1, 2, program, HAWSER_WINDOW="2m")
    ended = by_hand.end()
    for code, _, err in ended:
        assert code != 0 and len(err.splitlines()) == 1, ended
        assert f"HAWSER_WINDOW is not set for rank 0 on host {HOST} and 2097152 for rank 1" in err, ended


@pytest.mark.parametrize("rank, size, said", [
    ("3", "3", "HAWSER_RANK is 3, and must be a number from 0 to 2"),
    ("", "3", "HAWSER_RANK is not set"),
    ("0", "many", "HAWSER_SIZE is many"),
])
def test_a_number_that_cannot_be_is_refused_at_once(by_hand, build, rank, size, said):
    by_hand.start(rank, size, build("hello.c"))
    [(code, out, err)] = by_hand.end()
    assert code != 0 and out == "" and len(err.splitlines()) == 1 and said in err, err


def test_a_rank_that_is_there_twice_is_refused_and_the_job_goes_on(by_hand, build):
    program = build("hello.c")
    by_hand.start(0, 3, program)
    first = by_hand.start(1, 3, program)
    second = by_hand.start("1", 3, program)
    refused = eventually(lambda: next((p for p in (first, second) if p.poll() is not None), None))
    kept = second if refused is first else first
    out, err = refused.communicate()
    assert refused.returncode != 0 and out == "" and len(err.splitlines()) == 1, err
    assert f"rank 1 is process {kept.pid} already" in err, err
    by_hand.ranks = {0: by_hand.ranks[0], 1: kept}
    by_hand.start(2, 3, program)
    assert by_hand.end() == [(0, "", "")] * 3


def test_a_second_rank_0_is_refused_and_the_job_goes_on(by_hand, build):
    program = build("hello.c")
    first = by_hand.start(0, 2, program)
    eventually(by_hand.file.exists)
    by_hand.start("second", 2, program, HAWSER_RANK="0")
    second = by_hand.ranks.pop("second")
    out, err = second.communicate(timeout=GRACE_OF_LABS_S)
    assert second.returncode != 0 and len(err.splitlines()) == 1, err
    assert f"was made by another rank 0 (process {first.pid} on host {HOST})" in err, err
    by_hand.start(1, 2, program)
    assert by_hand.end() == [(0, "", "")] * 2


def stale(by_hand, program):
    """A file that a killed rank 0 has left."""
    first = by_hand.start(0, 2, program)
    eventually(by_hand.file.exists)
    first.kill()
    first.communicate()
    del by_hand.ranks[0]
    assert by_hand.file.exists(), "or nothing is tested"
    return first.pid


def test_a_file_that_a_killed_job_has_left_is_no_hindrance(by_hand, build):
    program = build("hello.c")
    stale(by_hand, program)
    by_hand.start(1, 2, program)
    time.sleep(0.2)  # it looks at the old file some times
    by_hand.start(0, 2, program)
    assert by_hand.end() == [(0, "", "")] * 2
    assert not by_hand.file.exists()


def test_a_file_that_nobody_renews_is_named_and_removed(by_hand, build):
    program = build("hello.c")
    pid = stale(by_hand, program)
    by_hand.start(1, 2, program, HAWSER_RENDEZVOUS_S="1")
    [(code, _, err)] = by_hand.end()
    assert code != 0 and len(err.splitlines()) == 1, err
    assert f"left by an earlier rank 0 (process {pid}, which has ended), and is removed" in err, err
    assert not by_hand.file.exists()


def test_a_file_of_the_users_is_left_alone(by_hand, build):
    by_hand.file.write_text("a letter\n")
    by_hand.start_all(2, build("hello.c"))
    for code, _, err in by_hand.end():
        assert code != 0 and len(err.splitlines()) == 1 and "is a file that Hawser has not made" in err, err
    assert by_hand.file.read_text() == "a letter\n"
    by_hand.file.unlink()


@pytest.mark.parametrize("dies", [0, 1])
def test_a_rank_that_dies_while_others_are_awaited_ends_the_meeting(by_hand, build, dies):
    program = build("hello.c")
    by_hand.start(0, 3, program)
    eventually(by_hand.file.exists)
    by_hand.start(1, 3, program)
    sockets = lambda: [s for s in by_hand.session.snapshot()["sockets"] if "plain" in s[0]]  # noqa: E731
    eventually(lambda: len(sockets()) >= 2)  # the listener, and a connection that was taken
    time.sleep(0.2)
    killed = by_hand.ranks[dies]
    killed.kill()
    ended = by_hand.end()
    code, _, err = ended[1 - dies]
    assert code != 0 and len(err.splitlines()) == 1, ended
    assert f"rank {dies} (process {killed.pid}) has ended before all 3 ranks had joined" in err, ended
    assert not by_hand.file.exists()


def the_end_of(by_hand, dead, codes):
    """The one line about a rank that has died, of which the others end too."""
    ended = by_hand.end()
    assert [code for code, _, _ in ended] == codes, ended
    told = lines(ended)
    expected = f"hawser: rank {dead} on host {HOST} (pid {by_hand.ranks[dead].pid}) has ended without calling MPI_Finalize"
    assert len(told) == 1 and told[0].startswith(expected), ended
    assert not by_hand.file.exists()


@pytest.mark.parametrize("how, code", [("kill", -signal.SIGKILL), ("exit0", 0), ("_exit3", 3)])
@pytest.mark.parametrize("scene", ["receive", "barrier", "sleep", "traffic", "collective", "finalize"])
def test_a_rank_that_dies_ends_the_others_in_one_line(by_hand, build, how, code, scene):
    by_hand.start_all(4, build("ending.c"), how, scene)
    the_end_of(by_hand, 1, [1, code, 1, 1])


def test_ranks_that_have_closed_all_descriptors_see_a_death_too(by_hand, build):
    by_hand.start_all(3, build("closed_then_dies.c"))
    the_end_of(by_hand, 1, [1, -signal.SIGKILL, 1])


def test_rank_0_that_dies_is_one_like_all_others(by_hand, build, abi):
    by_hand.start_all(3, build("deadlock.c", abi))
    by_hand.started()
    by_hand.ranks[0].kill()
    the_end_of(by_hand, 0, [-signal.SIGKILL, 1, 1])


def test_mpi_abort_ends_all_with_its_code_and_in_one_line(by_hand, build, abi):
    by_hand.start_all(4, build("ending.c", abi), "abort", "receive")
    ended = by_hand.end()
    assert [code for code, _, _ in ended] == [5] * 4, ended
    told = lines(ended)
    assert len(told) == 1 and f"rank 1 on host {HOST} (pid {by_hand.ranks[1].pid}) aborts with code 5" in told[0], ended


def test_mpi_abort_in_a_child_of_fork_ends_all(by_hand, build):
    by_hand.start_all(3, build("forked.c"), "MPI_Abort")
    ended = by_hand.end()
    assert [code for code, _, _ in ended] == [5, -signal.SIGKILL, 5], ended
    told = lines(ended)
    assert len(told) == 1 and "aborts with code 5" in told[0], ended


def test_ranks_that_have_left_mpi_are_nobodys_business(by_hand, build):
    """What they do after MPI_Finalize, and how they end, concerns no other rank."""
    by_hand.start_all(3, build("after.c"))
    assert by_hand.end() == [(7, "", ""), (0, "", ""), (-signal.SIGKILL, "", "")]
