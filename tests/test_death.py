"""A rank is killed and the job is kept (-disable-auto-cleanup): all others are told, wherever they are, and go on without it.

What they do with the dead rank is in tests/c/death.c. Without the option the job ends, as test_hosts.py and test_ends.py see.
"""

import os
import re
import select
import subprocess
import time

import pytest
from harness import GRACE_OF_LABS_S, LONG, eventually, line_of
from test_ends import rank_of, ranks
from test_hosts import mpiexec, programs

KEEP = "-disable-auto-cleanup"
PORTS = ["", "packet", "udp", "stream"]
WAITS = ["recv", "recv_long", "recv_any", "irecv_any", "test_any", "test_slowly", "probe", "probe_any", "mprobe_any", "iprobe",
         "iprobe_any", "improbe_any", "ssend", "send_long", "flood", "stream"]
TOGETHER = ["dup", "split", "intercomm_create", "inter_dup", "inter_split", "inter_merge", "barrier", "ibarrier",
            "allreduce", "allgather", "allreduce_long", "iallreduce"]
TOLD = re.compile(r"rank (\d) at (\d+): (\d+), (.*)")
KILLED = r"mpiexec: rank {} on host {} \(pid \d+\) was killed by signal 9 \(Killed\)\n"


def told(out, dying):
    """How long after the death each survivor had its error, in ms, and what it said; all are done in the end."""
    died_ns = int(re.search(r"dies at (\d+)", out)[1])
    found = {int(rank): ((int(ns) - died_ns) / 1e6, text) for rank, ns, _, text in TOLD.findall(out)}
    assert sorted(found) == [*range(dying)], out
    assert all(f"rank {rank} is done" in out for rank in range(dying)), out
    return found


def killed(lab, out, err, code, dying, host):
    assert code == 137 and re.fullmatch(KILLED.format(dying, host), err), (code, out, err)
    eventually(lambda: programs(lab) == {})
    return told(out, dying)


def lines_before(job, line):
    """What the job prints before this line, which it must print."""
    before = ""
    while (read := line_of(job.stdout)) != line:
        assert read, (before, job.communicate())
        before += read
    return before


def end_of(host, program, rank):
    """When the kernel says to whoever asks, as the agent does, that a rank's process has ended; in ns of the monotonic clock.
    None if it had before it was looked for."""
    try:
        found = [pid for pid in ranks(host, program) if rank_of(pid) == str(rank)]
        hold = os.pidfd_open(found[0])
    except (IndexError, OSError):
        return None
    poll = select.poll()
    poll.register(hold, select.POLLIN)
    poll.poll(GRACE_OF_LABS_S * 1000)
    ended_ns = time.monotonic_ns()
    os.close(hold)
    return ended_ns


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.timeout(400)
def test_a_death_on_another_host_ends_what_waits_for_it_and_nothing_else(make, build, port):
    """Two ranks on each of two hosts; the last one dies. What is measured goes from the moment at which the agent can know
    of it: until then the kernel takes its sockets away, which lasts some 100 ms after it was killed."""
    lab, program = make(hosts=2), build("death.c")
    worst = {}
    # Each way wakes a rank that waits by its own descriptors; what several ranks do together waits as the others do.
    together = TOGETHER if LONG or not port else TOGETHER[-1:]
    for what in [*WAITS, *together]:
        with mpiexec(lab, KEEP, "-ppn", "2", "-timeout", "20", program, what, env={"HAWSER_PORT": port}) as job:
            # Its last words may come before those of the others.
            before = lines_before(job, f"in {what}\n")
            ended_ns = end_of(lab.hosts[1], program, 3)
            out, err = job.communicate(timeout=GRACE_OF_LABS_S + 10)
        out = before + out
        found = killed(lab, out, err, job.returncode, 3, "node1")
        assert all("MPI_ERR_PROC_ABORTED" in text for _, text in found.values()), (what, found)
        if ended_ns is not None:
            died_ns = int(re.search(r"dies at (\d+)", out)[1])
            worst[what] = max(ms for rank, (ms, _) in found.items() if rank < 2) - (ended_ns - died_ns) / 1e6
    print(f"by {port or 'what is best'}, ms from the end of the process to the error on the other host:",
          ", ".join(f"{what} {ms:.1f}" for what, ms in worst.items()))


@pytest.mark.parametrize("what", [*WAITS, *TOGETHER])
def test_a_death_on_one_host(build, session, what):
    done = session.mpiexec(4, build("death.c"), [what], [KEEP], timeout=30)
    assert done.code == 137 and re.fullmatch(KILLED.format(3, r"\S+"), done.err), done
    told(done.out, 3)


@pytest.mark.parametrize("abi", ["mpich", "std"])
def test_open_mpis_name_for_it_is_known(build, session, abi):
    done = session.mpiexec(3, build("death.c", abi), ["recv_any"], ["--enable-recovery"], timeout=30)
    assert done.code == 137 and re.fullmatch(KILLED.format(2, r"\S+"), done.err), done
    told(done.out, 2)


def test_three_hosts_are_told_of_a_death_on_one_of_them(make, build):
    lab, program = make(hosts=3), build("death.c")
    for what in ["recv_any", "allreduce", "dup"]:
        with mpiexec(lab, KEEP, "-ppn", "2", "-timeout", "20", program, what) as job:
            out, err = job.communicate(timeout=GRACE_OF_LABS_S + 10)
        killed(lab, out, err, job.returncode, 5, "node2")


def test_a_job_that_is_kept_ends_by_a_signal_with_the_code_of_the_first_failure(make):
    lab = make(hosts=2)
    script = ["sh", "-c", "[ $HAWSER_RANK = 1 ] && kill -9 $$; sleep 1000"]
    with mpiexec(lab, KEEP, *script, stdin=subprocess.DEVNULL) as job:
        assert re.fullmatch(KILLED.format(1, "node1"), line_of(job.stderr))
        assert job.poll() is None, "the other rank goes on"
        job.terminate()
        _, err = job.communicate(timeout=GRACE_OF_LABS_S)
    assert job.returncode == 137 and err == "mpiexec: signal 15 (Terminated) ends the job\n", (job.returncode, err)
    eventually(lambda: programs(lab) == {})
